package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/redisrepo"
)

// persistedExtension is the extension in which a request names a document by its hash.
const persistedExtension = "persistedQuery"

// persistedQueries implements Apollo's automatic persisted queries: a client sends the SHA-256 of a document, and
// its text only if the server does not know it. Texts are kept here and, for other processes, in the store.
//
// It replaces gqlgen's extension.AutomaticPersistedQuery, which stores a text before validating it, so that
// anonymous clients could fill the store with anything, and shares nothing between processes.
type persistedQueries struct {
	log   *slog.Logger
	repo  *redisrepo.Repo
	texts documentCache[string] // by hash
}

// ExtensionName implements graphql.HandlerExtension.
func (persistedQueries) ExtensionName() string { return "PersistedQueries" }

// Validate implements graphql.HandlerExtension.
func (persistedQueries) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters replaces a hash by its text. A store that is unavailable is treated as one that does
// not know the text: the client sends it.
func (p persistedQueries) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	hash, refused := persistedHash(params)
	switch {
	case refused != nil:
		return gqlerror.Wrap(refused)
	case hash == "":
		return nil
	case params.Query != "":
		if sha256Hex(params.Query) != hash {
			return gqlerror.Wrap(badRequest("the hash does not match the query"))
		}
		return nil
	}
	text, known := p.texts.Get(ctx, hash)
	if !known && len(hash) == sha256.Size*2 {
		var err error
		if text, err = p.repo.Document(ctx, hash); err != nil {
			report(ctx, p.log, slog.LevelWarn, "persisted query not read", nil, "err", err)
		}
		// The store is not trusted to have the right text.
		if known = err == nil && sha256Hex(text) == hash; known {
			p.texts.add(hash, text, len(text), 0)
		}
	}
	if !known {
		return gqlerror.Wrap(notPersisted())
	}
	params.Query = text
	return nil
}

// MutateOperationContext keeps a text that came with its hash, once the document has proved valid and within the
// limits.
func (p persistedQueries) MutateOperationContext(ctx context.Context, o *graphql.OperationContext) *gqlerror.Error {
	if o.Extensions[persistedExtension] == nil || len(o.RawQuery) > maxDocument {
		return nil
	}
	hash := sha256Hex(o.RawQuery)
	if _, known := p.texts.Get(ctx, hash); known {
		return nil
	}
	p.texts.add(hash, o.RawQuery, len(o.RawQuery), 0)
	if err := p.repo.KeepDocument(ctx, hash, o.RawQuery); err != nil {
		report(ctx, p.log, slog.LevelWarn, "persisted query not kept", nil, "err", err)
	}
	return nil
}

func notPersisted() *refusal {
	// Apollo's clients look for this exact message, or for the code.
	return &refusal{code: codeNotPersisted, message: "PersistedQueryNotFound", status: http.StatusOK}
}

// persistedHash returns the hash that a request names, or "".
func persistedHash(params *graphql.RawParams) (string, *refusal) {
	extension, given := params.Extensions[persistedExtension]
	if !given || extension == nil {
		return "", nil
	}
	fields, _ := extension.(map[string]any)
	hash, _ := fields["sha256Hash"].(string)
	if version, _ := fields["version"].(json.Number); version != "1" || hash == "" {
		return "", badRequest("the extension persistedQuery needs version 1 and a sha256Hash")
	}
	return hash, nil
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
