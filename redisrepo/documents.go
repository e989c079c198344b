package redisrepo

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// documentTTL is how long a document is kept after it was last read.
const documentTTL = 30 * day

// Document is the text of a document by its SHA-256 in hex, or empty. There is
// one place for all hashes that begin alike, so what strangers can fill is
// bounded; it may hold the text of another hash, which the caller must compare.
func (r *Repo) Document(ctx context.Context, hash string) (string, error) {
	text, err := r.client.GetEx(ctx, r.partitions[0].document(hash), documentTTL).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", storeError("read a document", err)
	}
	return text, nil
}

// KeepDocument stores a document by its SHA-256 in hex, in the place of whatever
// was there.
func (r *Repo) KeepDocument(ctx context.Context, hash, text string) error {
	if err := r.client.Set(ctx, r.partitions[0].document(hash), text, documentTTL).Err(); err != nil {
		return storeError("keep a document", err)
	}
	return nil
}
