package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

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
	text, err := p.repo.Sessions.Document(ctx, hash)
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
	if err := p.repo.Sessions.KeepDocument(ctx, hash, text); err != nil {
		report(ctx, p.log, slog.LevelWarn, "persisted query not stored", nil, "err", err)
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

// Trusted is the list of the documents of the operator's own clients. If Options.Trusted is set, no other document
// runs.
type Trusted struct {
	byID  map[string]string
	texts map[string]bool
	names []string
}

// ReadTrusted reads a JSON object of documents by id, as the compilers of GraphQL clients write it; ids are
// mostly hashes. It returns an error for a document that is invalid or exceeds a limit that does not depend
// on variables.
func ReadTrusted(file []byte, schema *ast.Schema, scalars Scalars, limits Limits) (*Trusted, error) {
	t, valid := &Trusted{texts: map[string]bool{}}, newValidation(schema, scalars, limits, true)
	if err := json.Unmarshal(file, &t.byID); err != nil {
		return nil, fmt.Errorf("not a JSON object of documents by id: %w", err)
	}
	for id, text := range t.byID {
		document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, limits.Tokens)
		if err != nil {
			return nil, fmt.Errorf("document %q: %w", id, err)
		}
		if len(document.Operations) == 0 {
			return nil, fmt.Errorf("document %q: it has no operation", id)
		}
		if errs := valid.check(document); len(errs) > 0 {
			return nil, fmt.Errorf("document %q: %w", id, errs[0])
		}
		t.texts[text] = true
		for _, operation := range document.Operations {
			t.names = append(t.names, operation.Name)
		}
	}
	return t, nil
}

// Operations returns the names of the operations of all documents; they may repeat.
func (t *Trusted) Operations() []string { return t.names }

// find replaces an id by its document, and refuses a document that is not in the list.
func (t *Trusted) find(_ context.Context, params *graphql.RawParams) (keep string, refused *refusal) {
	if params.Query == "" {
		id, refused := persistedHash(params)
		if refused != nil {
			return "", refused
		}
		if params.Query = t.byID[id]; params.Query == "" {
			return "", notPersisted()
		}
	}
	if !t.texts[params.Query] {
		return "", &refusal{code: codeNotTrusted, message: "this site runs only the documents of its own programs"}
	}
	return "", nil
}
