// Needs Go 1.18 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func call(request *http.Request, body any) {
	request.Header.Set("User-Agent", "investment-plans-sample")
	client := http.Client{Timeout: 15 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	isObject := bytes.HasPrefix(text, []byte("{"))
	if response.StatusCode != http.StatusOK || !isObject || json.Unmarshal(text, body) != nil {
		log.Fatalf("%d: %.300s", response.StatusCode, text)
	}
}

func main() {
	partners := os.Getenv("API") + "/api/v3/partners/"

	request, err := http.NewRequest(http.MethodPost, partners+"auth", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.SetBasicAuth(os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"))
	var token struct {
		Value string `json:"access_token"`
	}
	call(request, &token)

	request, err = http.NewRequest(http.MethodGet, partners+os.Getenv("SHORT_NAME")+"/plans", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Value)
	var list struct {
		Data struct {
			Plans []struct{ Identifier, CoolName string }
		}
	}
	call(request, &list)
	for _, plan := range list.Data.Plans {
		fmt.Printf("%s\t%s\n", plan.Identifier, plan.CoolName)
	}
}
