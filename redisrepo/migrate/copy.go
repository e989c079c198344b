package migrate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Redis serves other clients between the round trips. One of them reads so many keys, and the first elements of each,
// or more elements of a single large key.
const (
	copiedKeys     = 100
	copiedElements = 1000
	copyWorkers    = 4
)

const (
	sameExpiry = 2 * time.Second // by which the expiry of equal keys may differ: it is read at two moments
	soon       = 5 * time.Second // in which a key of the copy may expire by itself, as it has in the original
)

// pass makes the copy like the original: first it puts what is missing or differs, then it removes what the original
// does not have.
func (m *migration) pass(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	m.changed.Store(0)
	m.unknown.Store(0)
	keys, err := m.from.Store.Client.DBSize(ctx).Result()
	if err != nil {
		return 0, failover.Wrap("count the keys", err)
	}
	m.done, m.total = 0, int(2*keys) // the copy has about as many
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return eachBatch(ctx, m.from, m.put) },
		func(ctx context.Context) error { return eachBatch(ctx, m.to, m.prune) },
		m.indexGroups, m.copyLog, m.copyChanges, m.copyFrontPages, m.copyNumbers,
	} {
		if err := step(ctx); err != nil {
			return 0, err
		}
	}
	if n := m.unknown.Load(); n > 0 {
		m.sayf("%d keys of the original do not belong to a site: they are not copied", n)
	}
	return time.Since(began).Round(time.Millisecond), nil
}

// copiedKey is a key of one store, and some of its elements.
type copiedKey struct {
	cell
	key    string
	at     int    // index of its partition
	cursor uint64 // of the next elements; 0: there are no more

	scan            *redis.ScanCmd
	text            *redis.StringCmd
	expiry          *redis.DurationCmd
	link            *redis.StringCmd // of the article of an idempotency key
	members, values []string         // a text has a value and no member
}

// eachBatch calls handle with the keys of a store, several batches at a time.
func eachBatch(ctx context.Context, r *redisrepo.Repo, handle func(context.Context, []*copiedKey) error) error {
	indexes := map[keys.Partition]int{}
	for i, p := range r.Store.Partitions {
		indexes[p] = i
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copyWorkers)
	err := scanKeys(ctx, r, func(names []string) error {
		batch := make([]*copiedKey, len(names))
		for i, name := range names {
			p := r.Store.PartitionOfKey(name)
			batch[i] = &copiedKey{cell: cell{name: strings.TrimPrefix(name, string(p))}, key: name, at: indexes[p]}
			batch[i].Kind, batch[i].rest = keys.Parse(batch[i].name)
			if _, known := indexes[p]; !known && name != keys.Untagged.Meta() {
				batch[i].Kind = keys.Kind{}
			}
		}
		group.Go(func() error { return handle(ctx, batch) })
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// walked returns the keys of a batch whose elements are copied one by one, and reports the progress.
func (m *migration) walked(batch []*copiedKey) (walked []*copiedKey, unknownKeys int) {
	for _, k := range batch {
		switch {
		case k.Name == "":
			unknownKeys++
		case k.Copy != keys.NotCopied && k.Copy != keys.Apart:
			walked = append(walked, k)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += len(batch)
	m.to.Layout.OnProgress("comparing keys", min(m.done, m.total), m.total)
	return walked, unknownKeys
}

// scanKeys calls handle with all keys of the store, some of them perhaps twice.
func scanKeys(ctx context.Context, r *redisrepo.Repo, handle func(keys []string) error) error {
	var mu sync.Mutex
	scan := func(ctx context.Context, server redis.Cmdable) error {
		err := wire.Walk(1, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()
			return handle(keys)
		}, func(cursor uint64) *redis.ScanCmd { return server.Scan(ctx, cursor, "", copiedKeys) })
		if failed := (wire.ScanError{}); errors.As(err, &failed) {
			return failover.Wrap("look at all keys", failed.Err)
		}
		return err
	}
	if cluster, ok := r.Store.Client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error { return scan(ctx, primary) })
	}
	return scan(ctx, r.Store.Client)
}

// read reads the next elements of keys.
func read(ctx context.Context, r *redisrepo.Repo, some []*copiedKey, elements int64) error {
	err := r.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, k := range some {
			switch k.Holds {
			case keys.String:
				k.text = pipe.Get(ctx, k.key)
			case keys.Hash:
				k.scan = pipe.HScan(ctx, k.key, k.cursor, "", elements)
			case keys.Set:
				k.scan = pipe.SScan(ctx, k.key, k.cursor, "", elements)
			case keys.SortedSet:
				k.scan = pipe.ZScan(ctx, k.key, k.cursor, "", elements)
			default: // not read
			}
			if k.Expires {
				k.expiry = pipe.PTTL(ctx, k.key)
			}
		}
	})
	if err != nil {
		return readError(some, err)
	}
	for _, k := range some {
		k.members, k.values, k.cursor = nil, nil, 0
		if k.Holds == keys.String {
			if k.text.Err() == nil {
				k.values = []string{k.text.Val()}
			}
			continue
		}
		var found []string
		found, k.cursor = k.scan.Val()
		if k.Holds == keys.Set {
			k.members = found
			continue
		}
		for i := 0; i < len(found); i += 2 {
			k.members, k.values = append(k.members, found[i]), append(k.values, found[i+1])
		}
	}
	return nil
}

// readError names the first key that could not be read, and the command.
func readError(some []*copiedKey, err error) error {
	for _, k := range some {
		var command redis.Cmder
		switch {
		case k.Holds == keys.String:
			command = k.text
		case k.scan != nil:
			command = k.scan
		default:
			continue
		}
		if !failover.HasRun(command) {
			return failover.Wrap(strings.ToUpper(command.Name())+" "+k.key, command.Err())
		}
	}
	return failover.Wrap("read keys", err)
}

// each calls step with the keys, and again with each key that has more elements.
func each(keys []*copiedKey, step func(keys []*copiedKey, elements int64) error) error {
	if err := step(keys, copiedKeys); err != nil {
		return err
	}
	for _, k := range keys {
		for k.cursor != 0 {
			if err := step([]*copiedKey{k}, copiedElements); err != nil {
				return err
			}
		}
	}
	return nil
}

// put copies what the copy lacks of the keys of the original, or has differently.
func (m *migration) put(ctx context.Context, batch []*copiedKey) error {
	keys, unknownKeys := m.walked(batch)
	m.unknown.Add(int64(unknownKeys))
	return each(keys, func(keys []*copiedKey, elements int64) error {
		if err := read(ctx, m.from, keys, elements); err != nil {
			return err
		}
		if err := m.readLinks(ctx, keys); err != nil {
			return err
		}
		var parts []*part
		for _, k := range keys {
			found, err := m.placed(k)
			if err != nil {
				return err
			}
			parts = append(parts, found...)
		}
		if err := ask(ctx, m.to, parts); err != nil {
			return err
		}
		return m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
			for _, p := range parts {
				m.changed.Add(p.put(ctx, pipe))
			}
		})
	})
}

// readLinks reads the links of the articles that were posted with an idempotency key: its record is in their partition.
func (m *migration) readLinks(ctx context.Context, keys []*copiedKey) error {
	return m.from.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, k := range keys {
			if id, ok := k.postedID(); ok {
				k.link = pipe.HGet(ctx, m.from.Store.Partition(id).Article(id), "link")
			}
		}
	})
}

// postedID is the article of the record of an idempotency key.
func (k *copiedKey) postedID() (id site.ArticleID, ok bool) {
	if k.Of != keys.Post || len(k.values) == 0 {
		return 0, false
	}
	member, _, _ := strings.Cut(k.values[0], " ")
	id, err := site.ParseArticleID(member)
	return id, err == nil
}

// placed returns the parts of a key by the partitions of the copy.
func (m *migration) placed(k *copiedKey) (parts []*part, err error) {
	n := len(m.to.Store.Partitions)
	byIndex := map[int]*part{}
	partAt := func(index int) *part {
		p := byIndex[index]
		if p == nil {
			to := m.to.Store.Partitions[index]
			p = &part{of: k, key: to.Key(k.name), expiry: -1}
			if k.expiry != nil {
				p.expiry = k.expiry.Val()
			}
			if name := site.GroupName(k.rest); k.Name == "group" && site.IsListed(name) {
				p.groups, p.group = to.Groups(), string(name)
			}
			byIndex[index], parts = p, append(parts, p)
		}
		return p
	}
	if k.Holds == keys.String {
		if len(k.values) == 0 || k.Of == keys.Post && strings.HasPrefix(k.values[0], redisrepo.ClaimedArticle+" ") {
			return nil, nil // expired, or only a claim: the record is elsewhere
		}
		partAt(k.Of.Index(n, k.rest)).values = k.values
		if k.link != nil && k.link.Val() != "" {
			partAt(keys.LinkIndex(n, site.LinkDigest(k.link.Val()))).values = k.values
		}
		return parts, nil
	}
	if k.Copy == keys.ToAll {
		for j := k.at; j < n; j += len(m.from.Store.Partitions) {
			p := partAt(j)
			p.members, p.values = k.members, k.values
		}
		return parts, nil
	}
	for i, member := range k.members {
		first, step := 0, n
		if k.isMark(member) {
			first, step = k.at, len(m.from.Store.Partitions)
		} else if first, err = k.indexOf(n, member); err != nil {
			return nil, err
		}
		for index := first; index < n; index += step {
			p := partAt(index)
			p.members = append(p.members, member)
			if k.values != nil {
				p.values = append(p.values, k.values[i])
			}
		}
	}
	return parts, nil
}
