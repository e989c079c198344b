package graph

import (
	"context"
	"net/http"
	"strings"

	"frontpage/redisrepo"
)

const userHeader = "X-User-ID"

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
		if name := req.Header.Get(userHeader); name != "" {
			req = req.WithContext(asViewer(req.Context(), name))
		}
		next.ServeHTTP(w, req)
	})
}

// withInitViewer is withViewer for a socket, whose client may name the user in
// the payload of connection_init as in a header. That goes before the header,
// which a browser does not let a page send.
func withInitViewer(ctx context.Context, payload map[string]any) context.Context {
	for key, value := range payload {
		if strings.EqualFold(key, userHeader) {
			name, _ := value.(string)
			return asViewer(ctx, name)
		}
	}
	return ctx
}

func asViewer(ctx context.Context, name string) context.Context {
	var v viewer
	v.name, v.err = redisrepo.ParseUserName(name)
	return context.WithValue(ctx, viewerKey{}, v)
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
