package endpoint

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// cacheBytes is how much a cache of documents holds. With the garbage that
	// is allowed to lie around, the process takes several times as much.
	cacheBytes = 24 << 20
	// longestDocument is the longest text that is remembered, bytes.
	longestDocument = 16 << 10
	// perDocument and perToken are what a document takes besides its text, bytes,
	// measured as the growth of the heap.
	perDocument = 1 << 10
	perToken    = 512
)

// documentCache remembers something for each of the documents that were used
// last, as many as it has room for. It is safe for concurrent use.
type documentCache[T any] struct {
	mu      sync.Mutex
	entries *simplelru.LRU[string, entry[T]]
	bytes   int // of all entries
}

type entry[T any] struct {
	value T
	bytes int
}

func newDocumentCache[T any]() *documentCache[T] {
	c := &documentCache[T]{}
	forget := func(_ string, e entry[T]) { c.bytes -= e.bytes }
	var err error
	if c.entries, err = simplelru.NewLRU(cacheBytes/perDocument, forget); err != nil {
		panic(err) // the size above
	}
	return c
}

// Get is one half of gqlgen's query cache.
func (c *documentCache[T]) Get(_ context.Context, key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	return e.value, ok
}

// Add is the other half: the key is a document's text, and the value what the
// parser made of it.
func (c *documentCache[T]) Add(_ context.Context, text string, value T) {
	c.add(text, value, len(text), perToken*tokens(text))
}

// add remembers a value for a document whose text has the given length, and
// which takes more bytes besides.
func (c *documentCache[T]) add(key string, value T, length, more int) {
	if length > longestDocument {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key) // or it would count twice
	bytes := perDocument + length + more
	for c.bytes+bytes > cacheBytes && c.entries.Len() > 0 {
		c.entries.RemoveOldest()
	}
	c.entries.Add(key, entry[T]{value, bytes})
	c.bytes += bytes
}

// tokens counts the words and signs of a document, and those in its strings and
// comments.
func tokens(text string) int {
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
