package graph

import (
	"context"
	"net/http"

	"frontpage/redisrepo"
)

type viewerKey struct{}

// viewer is who is asking: nobody, a user, or somebody whose name is not one.
type viewer struct {
	name redisrepo.UserName // empty: nobody
	err  error
}

// withViewer trusts the header X-User-ID: development mode, where everybody may
// be anybody. The server must not be reachable by others then.
func withViewer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if header := req.Header.Get("X-User-ID"); header != "" {
			var v viewer
			v.name, v.err = redisrepo.ParseUserName(header)
			req = req.WithContext(context.WithValue(req.Context(), viewerKey{}, v))
		}
		next.ServeHTTP(w, req)
	})
}

// viewerOf is who asks for what ctx belongs to. Reading is open to all, so
// queries take a bad name for nobody; the field viewer reports it.
func viewerOf(ctx context.Context) viewer {
	v, _ := ctx.Value(viewerKey{}).(viewer)
	return v
}

// requireViewer refuses whoever is not signed in.
func requireViewer(ctx context.Context) (redisrepo.UserName, error) {
	v := viewerOf(ctx)
	if v.err == nil && v.name == "" {
		return "", redisrepo.Refusal{{Code: unauthenticated, Message: "sign in first: send the header X-User-ID with a user name"}}
	}
	return v.name, v.err
}
