package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"

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
	texts documentCache[string, string] // by hash
}

// find replaces a hash by its text. A store that is unavailable is treated as one that does not know the text: the
// client sends it.
func (p persistedQueries) find(ctx context.Context, params *graphql.RawParams) (keep string, refused *refusal) {
	hash, refused := persistedHash(params)
	if refused != nil || hash == "" {
		return "", refused
	}
	text, known := p.texts.get(hash)
	switch {
	case params.Query == "" && known:
		params.Query = text
		return "", nil
	case params.Query == "":
		return "", p.read(ctx, hash, params)
	case known && params.Query == text:
		return "", nil
	case sha256Hex(params.Query) != hash:
		return "", badRequest("the hash does not match the query")
	}
	return hash, nil
}

// read sets the text of a hash that only the store may know.
func (p persistedQueries) read(ctx context.Context, hash string, params *graphql.RawParams) *refusal {
	if len(hash) != sha256.Size*2 {
		return notPersisted()
	}
	text, err := p.repo.Document(ctx, hash)
	if err != nil {
		report(ctx, p.log, slog.LevelWarn, "persisted query not read", nil, "err", err)
	}
	// The store is not trusted to have the right text.
	if err != nil || sha256Hex(text) != hash {
		return notPersisted()
	}
	p.texts.add(hash, text, len(text), 0)
	params.Query = text
	return nil
}

// keep keeps a text that came with its hash and has proved valid and within the limits.
func (p persistedQueries) keep(ctx context.Context, hash, text string) {
	if len(text) > maxDocument {
		return
	}
	p.texts.add(hash, text, len(text), 0)
	if err := p.repo.KeepDocument(ctx, hash, text); err != nil {
		report(ctx, p.log, slog.LevelWarn, "persisted query not kept", nil, "err", err)
	}
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
