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

// persistedExtension is where a request names a document by its hash.
const persistedExtension = "persistedQuery"

// persistedQueries is Apollo's protocol of automatic persisted queries: a client
// sends the SHA-256 of a document, and the text only when the server does not
// know it. Texts are remembered here and, for the other processes, in the store.
type persistedQueries struct {
	log   *slog.Logger
	repo  *redisrepo.Repo
	texts *documentCache[string] // by hash
}

func (persistedQueries) ExtensionName() string { return "PersistedQueries" }

func (persistedQueries) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters puts the text in the place of its hash. A store that
// does not answer is one that does not know the text: the client sends it.
func (p persistedQueries) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	hash, why := persistedHash(params)
	switch {
	case why != nil:
		return gqlerror.Wrap(why)
	case hash == "":
		return nil
	case params.Query != "":
		if sha256Hex(params.Query) != hash {
			return gqlerror.Wrap(badRequest("the hash is not the query's"))
		}
		return nil
	}
	text, known := p.texts.Get(ctx, hash)
	if !known && len(hash) == sha256.Size*2 {
		var err error
		if text, err = p.repo.Document(ctx, hash); err != nil {
			report(ctx, p.log, slog.LevelWarn, "persisted query not read", nil, "err", err)
		}
		// Whoever wrote it there, it must be what was asked for.
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

// MutateOperationContext remembers a text that came with its hash, now that the
// document has proved valid and within the limits.
func (p persistedQueries) MutateOperationContext(ctx context.Context, o *graphql.OperationContext) *gqlerror.Error {
	if o.Extensions[persistedExtension] == nil || len(o.RawQuery) > longestDocument {
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

func notPersisted() *refused {
	// Apollo's clients look for this very message, or for the code.
	return &refused{code: codeNotPersisted, message: "PersistedQueryNotFound", status: http.StatusOK}
}

// persistedHash is the hash that a request names, or empty.
func persistedHash(params *graphql.RawParams) (string, *refused) {
	extension, given := params.Extensions[persistedExtension]
	if !given || extension == nil {
		return "", nil
	}
	fields, _ := extension.(map[string]any)
	hash, _ := fields["sha256Hash"].(string)
	if version, _ := fields["version"].(json.Number); version != "1" || hash == "" {
		return "", badRequest("the extension persistedQuery has version 1 and a sha256Hash")
	}
	return hash, nil
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
