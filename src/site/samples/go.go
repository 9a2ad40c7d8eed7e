// Needs Go 1.18 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

type answer struct {
	Token string `json:"access_token"`
	Data  struct {
		Plans []struct{ Identifier, CoolName string }
	}
}

func call(method, path, authorization string) (body answer) {
	url := strings.TrimSuffix(os.Getenv("API"), "/") + "/api/v3/partners/" + path
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {authorization}, "User-Agent": {"investment-plans-sample"}}
	response, err := (&http.Client{Timeout: 15 * time.Second}).Do(request)
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(text, &body) != nil {
		log.Fatalf("%d: %.300s", response.StatusCode, text)
	}
	return body
}

func main() {
	credentials := base64.StdEncoding.EncodeToString([]byte(os.Getenv("CLIENT_ID") + ":" + os.Getenv("CLIENT_SECRET")))
	token := call("POST", "auth", "Basic "+credentials).Token
	for _, plan := range call("GET", os.Getenv("SHORT_NAME")+"/plans", "Bearer "+token).Data.Plans {
		fmt.Printf("%s\t%s\n", plan.Identifier, plan.CoolName)
	}
}
