package redisrepo

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// documentTTL is how long a document is kept after its last use.
const documentTTL = 30 * day

// Document returns the text of a GraphQL document by its SHA-256 in hex, or an empty text. Documents
// share 4096 slots by the first three digits of their hashes, which bounds what clients can store. The
// text may therefore have another hash: the caller must compare it.
func (r *Repo) Document(ctx context.Context, hash string) (string, error) {
	key := r.documentKey(hash)
	text, err := r.client.GetEx(ctx, key, documentTTL).Result()
	if errors.Is(classify(err), ErrReadOnly) {
		text, err = r.client.Get(ctx, key).Result()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", storeError("read a document", err)
	}
	return text, nil
}

// KeepDocument stores a document by its SHA-256 in hex. It replaces the document in the same slot.
func (r *Repo) KeepDocument(ctx context.Context, hash, text string) error {
	if err := r.client.Set(ctx, r.documentKey(hash), text, documentTTL).Err(); err != nil {
		return storeError("keep a document", err)
	}
	return nil
}

// documentKey is the key of a document's slot. The slots are spread over the partitions.
func (r *Repo) documentKey(hash string) string {
	return r.partitions[documentIndex(len(r.partitions), hash[:3])].document(hash)
}

// documentIndex is the partition, of n, of a document whose hash begins with these digits.
func documentIndex(n int, digits string) int {
	slot, _ := strconv.ParseUint(digits, 16, 16)
	return int(slot) % n // #nosec G115 -- 16 bits
}
