package endpoint

import "context"

const (
	// documentBytes is how many bytes a cache of documents holds. With garbage that is not collected yet, the
	// process takes several times as much.
	documentBytes = 24 << 20
	// maxDocument is the length of the longest text that is kept, bytes.
	maxDocument = 16 << 10
	// perDocument and perToken are what a document takes besides its text, bytes, measured as growth of the heap.
	perDocument = 1 << 10
	perToken    = 512
)

// documentCache keeps a value for each of the documents that were used most recently.
type documentCache[V any] struct{ documents *byteCache[string, V] }

func newDocumentCache[V any]() documentCache[V] {
	return documentCache[V]{newByteCache[string, V](documentBytes, perDocument)}
}

// Get implements graphql.Cache.
func (c documentCache[V]) Get(_ context.Context, key string) (V, bool) { return c.documents.get(key) }

// Add implements graphql.Cache. text is a document, and value its parsed form.
func (c documentCache[V]) Add(_ context.Context, text string, value V) {
	c.add(text, value, len(text), perToken*countTokens(text))
}

// add keeps a value for a document whose text has this length, and which takes more bytes besides.
func (c documentCache[V]) add(key string, value V, length, more int) {
	if length <= maxDocument {
		c.documents.add(key, value, perDocument+length+more)
	}
}

// countTokens counts the tokens of a document, and those within its strings and comments.
func countTokens(text string) int {
	n, inWord := 0, false
	for _, b := range []byte(text) {
		word := b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
		blank := b == ' ' || b == '\n' || b == '\t' || b == '\r' || b == ','
		if !blank && (!word || !inWord) {
			n++
		}
		inWord = word
	}
	return n
}
