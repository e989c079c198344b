package endpoint

import (
	"log/slog"
	"net/http"
)

// ForPages authenticates the requests of pages that the server renders: next learns from ViewerOf who asks, as resolvers
// do. All callers may read a page: one whose session has ended, or cannot be read now, is anonymous. Invalid
// credentials of other kinds are refused with 401.
//
// A form may change something by POST: it needs no token against forgery. A POST that a page of another origin sent is
// refused with 403, also for an anonymous caller, and with 503 if the session cannot be read.
//
// Responses depend on the headers that Vary names: a page for one viewer must not be public.
func ForPages(o Options, log *slog.Logger, next http.Handler) http.Handler {
	vary := o.Identity.Headers()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, name := range vary {
			w.Header().Add("Vary", name)
		}
		reads := req.Method == http.MethodGet || req.Method == http.MethodHead
		if o.Identity.FromForeignPage(req) {
			refusePage(w, "This was sent by a page of another site, so nothing was changed.", http.StatusForbidden)
			return
		}
		caller, ended, err := o.Identity.FromPage(req)
		if err != nil {
			refused := notAuthenticated(req.Context(), log, err)
			if refused.code != codeUnavailable || !reads {
				refusePage(w, refused.message, refused.status)
				return
			}
		}
		if ended {
			o.Identity.Forget(w)
		}
		v := Viewer{Address: clientAddress(req, o.Proxies)}.withCaller(caller)
		next.ServeHTTP(w, req.WithContext(&viewerContext{req.Context(), v}))
	})
}

// refusePage responds with a text instead of a page.
func refusePage(w http.ResponseWriter, text string, status int) {
	w.Header().Set("Cache-Control", "private, no-store")
	http.Error(w, text, status)
}
