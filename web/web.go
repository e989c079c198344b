// Package web serves the site and GraphiQL, which are made from the API alone. Both
// are built from site/ and explorer/ into dist/, and embedded from there.
package web

import (
	"embed"
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Options are what is served, and what the pages are told of the server.
type Options struct {
	Site      bool   `json:"-"` // whether the site is served
	SignIn    SignIn `json:"signIn"`
	SignInURL string `json:"signInURL"` // where people sign in elsewhere, with {return} for the way back; empty: nowhere
	Explorer  bool   `json:"explorer"`  // whether GraphiQL is served
	Downvotes bool   `json:"downvotes"` // whether there are votes down
	VoteScore int    `json:"voteScore"` // seconds of ranking that a vote is worth
}

// SignIn is how people say who they are.
type SignIn string

// The ways to sign in: any name will do, which is for trying; a token; or a proxy
// in front of the server does it.
const (
	ByName  SignIn = "name"
	ByToken SignIn = "token"
	ByProxy SignIn = "proxy"
)

// What a browser lets the pages do. Neither runs a script that is not a file of
// ours, nor asks anybody else for anything. Monaco, the editor of GraphiQL, writes
// styles into the page.
const (
	sitePolicy     = "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
	explorerPolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)

// sitePaths are what the site's router knows beside /: site/src/router.ts. What is not
// among them is answered with 404, and the page that says so.
var sitePaths = []string{"/new", "/groups", "/g/{name}", "/g/{name}/new", "/a/{number}", "/u/{name}", "/submit", "/signin"}

// Handler serves the site at / and GraphiQL at /graphiql, by GET and HEAD.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	if o.Site {
		site := page("dist/site/index.html", sitePolicy, o)
		for _, path := range sitePaths {
			mux.Handle("GET "+path, site)
		}
		mux.Handle("GET /", folder("dist/site", "", site, site))
	}
	if o.Explorer {
		explorer := page("dist/graphiql/index.html", explorerPolicy, o)
		mux.Handle("GET /graphiql", explorer)
		mux.Handle("GET /graphiql/", folder("dist/graphiql", "/graphiql", explorer, nil))
	}
	return mux
}

// page is a page that is told of o.
func page(name, policy string, o Options) *file {
	told, err := json.Marshal(o)
	if err != nil {
		panic(err) // of strings, numbers and booleans
	}
	const untold = `name="frontpage" content="{}"`
	return newFile(name, policy, func() []byte {
		return []byte(strings.Replace(string(read(name)), untold, `name="frontpage" content="`+html.EscapeString(string(told))+`"`, 1))
	})
}

// folder serves files, the index for the folder itself, and, where there is nothing,
// a page that says so to people; nil: there is none.
func folder(name, prefix string, index, missing *file) http.Handler {
	files := map[string]*file{prefix + "/": index}
	err := fs.WalkDir(dist, name, func(full string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(full) == "index.html" {
			return err
		}
		files[prefix+strings.TrimPrefix(full, name)] = newFile(full, "default-src 'none'", func() []byte { return read(full) })
		return nil
	})
	if err != nil {
		panic(err) // it is embedded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch f := files[req.URL.Path]; {
		case f != nil:
			f.ServeHTTP(w, req)
		case missing != nil && path.Ext(req.URL.Path) == "":
			missing.notFound(w)
		default:
			http.NotFound(w, req)
		}
	})
}

func read(name string) []byte {
	content, err := dist.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return content
}
