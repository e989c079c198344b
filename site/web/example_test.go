package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"frontpage/site/web"
)

// Serves the site without GraphiQL. The API itself, at /query, is another handler.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler(web.Options{Site: true}))

	for _, path := range []string{"/", "/nothing", "/graphiql"} {
		res := httptest.NewRecorder()
		mux.ServeHTTP(res, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, res.Code, res.Header().Get("Content-Type"))
	}
	// Output:
	// / 200 text/html; charset=utf-8
	// /nothing 404 text/html; charset=utf-8
	// /graphiql 404 text/html; charset=utf-8
}
