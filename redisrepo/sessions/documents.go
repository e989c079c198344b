package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// documentTTL is how long a document is kept after its last use.
const documentTTL = 30 * site.Day

// Document returns the text of a GraphQL document by its SHA-256 in hex, or an empty text. Documents
// share 4096 slots by the first three digits of their hashes, which bounds what clients can store. The
// text may therefore have another hash: the caller must compare it.
func (r *Sessions) Document(ctx context.Context, hash string) (string, error) {
	key := r.documentKey(hash)
	text, err := r.store.Client.GetEx(ctx, key, documentTTL).Result()
	if errors.Is(failover.Class(err), failover.ErrReadOnly) {
		text, err = r.store.Client.Get(wire.Reading(ctx), key).Result()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", failover.Wrap("read a document", err)
	}
	return text, nil
}

// KeepDocument stores a document by its SHA-256 in hex. It replaces the document in the same slot.
func (r *Sessions) KeepDocument(ctx context.Context, hash, text string) error {
	return failover.Wrap("keep a document", r.store.Client.Set(ctx, r.documentKey(hash), text, documentTTL).Err())
}

// documentKey is the key of a document's slot. The slots are spread over the partitions.
func (r *Sessions) documentKey(hash string) string {
	return r.store.Partitions[keys.DocumentIndex(len(r.store.Partitions), hash[:3])].Document(hash)
}

// UseState reports whether the state of a sign-in is used for the first time. Its digest is stored for the time during.
func (r *Sessions) UseState(ctx context.Context, state string, during time.Duration) (bool, error) {
	digest, mine := digestOf(state), rand.Text()
	key := r.digested(digest).State(digest)
	err := r.store.Send(ctx, redis.NewStatusCmd(ctx, "set", key, mine, "px", during.Milliseconds(), "nx"))
	if errors.Is(err, redis.Nil) { // it is this call's own if the first reply was lost
		stored, err := r.store.Client.Get(wire.Reading(ctx), key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, failover.Wrap("use a state", err)
		}
		return stored == mine, nil
	}
	return err == nil, failover.Wrap("use a state", err)
}
