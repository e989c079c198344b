package endpoint

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
type documentCache[K comparable, V any] struct{ documents *byteCache[K, V] }

func newDocumentCache[K comparable, V any]() documentCache[K, V] {
	return documentCache[K, V]{newByteCache[K, V](documentBytes, perDocument)}
}

func (c documentCache[K, V]) get(key K) (V, bool) { return c.documents.get(key) }

// add keeps a value for a document whose text has this length, and which takes more bytes besides.
func (c documentCache[K, V]) add(key K, value V, length, more int) {
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
