package graph_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
)

func ExampleNewHandler() {
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	st, err := store.Open(ctx, store.Options{URL: "memory://", Timeout: time.Second, Log: log})
	if err != nil {
		panic(err)
	}
	defer func() { _ = st.Close() }()
	repo, err := redisrepo.New(ctx, st.Client, site.DefaultRules())
	if err != nil {
		panic(err)
	}
	options := endpoint.DefaultOptions()
	options.Identity, err = identity.New(ctx, identity.Options{Development: true, ValidName: endpoint.ValidName})
	if err != nil {
		panic(err)
	}
	handler := graph.NewHandler(repo, graph.Site{}, log, options)

	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(
		`{"query": "mutation { post(input: {title: \"Hello\", text: \"world\"}) { article { id poster { name } } userErrors { message } } }"}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-ID", "alice")
	res := httptest.NewRecorder()
	handler.ServeHTTP(res, req)
	fmt.Println(res.Body)
	// Output: {"data":{"post":{"article":{"id":"article:1","poster":{"name":"alice"}},"userErrors":[]}}}
}
