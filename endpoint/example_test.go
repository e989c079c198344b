package endpoint_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
)

// Any gqlgen schema can be served. Without rates, subscriptions and persisted documents it needs no store.
func ExampleNew() {
	options := endpoint.DefaultOptions()
	var err error
	options.Identity, err = identity.New(context.Background(), identity.Options{Development: true, ValidName: endpoint.ValidName})
	if err != nil {
		panic(err)
	}
	schema := endpoint.Schema{ExecutableSchema: graph.NewExecutableSchema(graph.Config{})}
	handler := endpoint.New(schema, nil, slog.New(slog.DiscardHandler), options)

	res := httptest.NewRecorder()
	handler.ServeHTTP(res, httptest.NewRequest("GET", "/?query="+url.QueryEscape(`{ __schema { mutationType { name } } }`), nil))
	fmt.Println(res.Code, res.Body)
	// Output: 200 {"data":{"__schema":{"mutationType":{"name":"Mutation"}}}}
}
