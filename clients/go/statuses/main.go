// Command statuses prints as JSON how genqlient handles the response of the server at a URL, for clients/statuses.ts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/Khan/genqlient/graphql"
)

func main() {
	data := new(struct {
		Site *struct {
			Name string `json:"name"`
		} `json:"site"`
	})
	request := &graphql.Request{OpName: "Statuses", Query: "query Statuses { site { name } viewer { name } }"}
	err := graphql.NewClient(os.Args[1], http.DefaultClient).MakeRequest(context.Background(), request, &graphql.Response{Data: data})
	answer := map[string]any{"data": data}
	if err != nil {
		answer["error"] = err
		answer["type"] = fmt.Sprintf("%T", err)
	}
	json.NewEncoder(os.Stdout).Encode(answer)
}
