<?php
// Needs PHP 8.1 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
function call(string $path, string $authorization, string $method = 'GET'): object
{
    $headers = "Authorization: $authorization\r\nUser-Agent: investment-plans-sample";
    $http = ['method' => $method, 'header' => $headers, 'timeout' => 15, 'ignore_errors' => true];
    $url = rtrim(getenv('API'), '/') . "/api/v3/partners/$path";
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => $http]));
    if (!$stream) fail('No response: ' . error_get_last()['message']);
    $text = stream_get_contents($stream);
    $status = explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
    if ($status === '200') return json_decode($text, flags: JSON_THROW_ON_ERROR);
    fail("$status: " . substr($text, 0, 300));
}

function fail(string $reason): never
{
    fwrite(STDERR, "$reason\n");
    exit(1);
}

$credentials = base64_encode(getenv('CLIENT_ID') . ':' . getenv('CLIENT_SECRET'));
$token = call('auth', "Basic $credentials", 'POST')->access_token;
$plans = call(getenv('SHORT_NAME') . '/plans', "Bearer $token")->data->plans;
foreach ($plans as $plan) echo "$plan->identifier\t$plan->coolName\n";
