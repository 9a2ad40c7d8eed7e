<?php
// Needs PHP 8. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.

function call(string $path, string $authorization, string $method = 'GET'): array
{
    $url = getenv('API') . "/api/v3/partners/$path";
    $headers = "Authorization: $authorization";
    $http = ['method' => $method, 'header' => $headers, 'timeout' => 15, 'ignore_errors' => true];
    $response = file_get_contents($url, false, stream_context_create(['http' => $http]));
    if ($response === false) exit(1);
    $body = json_decode($response, true, 512, JSON_THROW_ON_ERROR);
    if (isset($body['error'])) {
        fwrite(STDERR, "{$body['error']}: {$body['message']} ({$body['requestId']})\n");
        exit(1);
    }
    return $body;
}

$credentials = base64_encode(getenv('CLIENT_ID') . ':' . getenv('CLIENT_SECRET'));
$token = call('auth', "Basic $credentials", 'POST')['access_token'];
foreach (call(getenv('SHORT_NAME') . '/plans', "Bearer $token")['data']['plans'] as $plan) {
    echo "{$plan['identifier']}\t{$plan['coolName']}\n";
}
