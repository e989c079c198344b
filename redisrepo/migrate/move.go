package migrate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// How a partition moves: Redis moves keys from one primary of a cluster to another while both know of it. A script finds
// some of its keys on one and some on the other, so writes of the partition wait from the first key to the last. The
// keys go in batches as large as both nodes can take without a long silence.

const (
	firstMoved  = 200                   // keys of the first batch
	mostMoved   = 10_000                // keys of a batch
	moveSilence = 50 * time.Millisecond // about how long a batch stops both nodes
	moveTimeout = 30 * time.Second      // of one command: keys can be large
)

// Place is where a partition of a site in a Redis Cluster is.
type Place struct {
	Slot     int
	Keys     int
	Primary  string // address
	MovingTo string // address of the primary to which a move was begun; usually empty
}

// Places returns the place of each partition.
func Places(ctx context.Context, client redis.UniversalClient) ([]Place, error) {
	r, views, err := openCluster(ctx, client)
	if err != nil {
		return nil, err
	}
	places := make([]Place, len(r.Store.Partitions))
	for i, p := range r.Store.Partitions {
		for _, v := range views {
			slot := v.slotOf(ctx, p)
			if !v.self.owns(slot) {
				continue
			}
			keys, err := v.client.ClusterCountKeysInSlot(ctx, slot).Result()
			if err != nil {
				return nil, failover.Wrap("count the keys of a partition", err)
			}
			places[i] = Place{Slot: slot, Keys: int(keys), Primary: v.self.address}
			if to := v.node(v.self.migrating[slot]); to != nil {
				places[i].MovingTo = to.address
			}
		}
	}
	return places, nil
}

// Moved is what Move has done.
type Moved struct {
	Keys  int
	Pause time.Duration // in which writes of the partition waited
}

// Move moves a partition of a site in a Redis Cluster to another of its primaries, while the site is used. If it is
// stopped in the middle, writes of the partition wait until it is called again with the same arguments. progress is
// called before each step.
func Move(ctx context.Context, client redis.UniversalClient, index int, to string, progress func(keys, total int)) (Moved, error) {
	r, views, err := openCluster(ctx, client)
	if err != nil {
		return Moved{}, err
	}
	if index < 0 || index >= len(r.Store.Partitions) {
		return Moved{}, fmt.Errorf("partition %d does not exist: the site has %s, the first one is 0", index, keys.PartitionsText(len(r.Store.Partitions)))
	}
	m := &move{progress: progress}
	if m.to, err = findView(ctx, views, to); err != nil {
		return Moved{}, err
	}
	defer func() { _ = m.to.client.Close() }()
	m.slot = m.to.slotOf(ctx, r.Store.Partitions[index])
	began := time.Now()
	if !m.to.self.owns(m.slot) {
		if err := m.choose(views); err != nil {
			return Moved{}, err
		}
		defer func() { _ = m.from.client.Close() }()
		if err := m.run(ctx); err != nil {
			return Moved{}, failover.Wrap(fmt.Sprintf("move slot %d from %s to %s", m.slot, m.from.self.address, to), err)
		}
	}
	// A killed move may not have told all others.
	for _, v := range append(views, m.to) {
		if err := v.client.Do(ctx, "cluster", "setslot", m.slot, "node", m.to.self.id).Err(); err != nil && v.self.id == m.to.self.id {
			return Moved{}, failover.Wrap("give the slot to "+to, err)
		}
	}
	return Moved{Keys: m.keys, Pause: time.Since(began)}, nil
}

type move struct {
	from, to *view
	slot     int
	keys     int
	progress func(keys, total int)
}

// choose finds the primary that has the slot, and refuses a move that would lose track of another one.
func (m *move) choose(views []*view) error {
	at := slices.IndexFunc(views, func(v *view) bool { return v.self.owns(m.slot) })
	if at < 0 {
		return fmt.Errorf("slot %d belongs to no primary: wait for the failover", m.slot)
	}
	m.from = views[at]
	if other := m.from.node(m.from.self.migrating[m.slot]); other != nil && other.id != m.to.self.id && other.isPrimary() {
		return fmt.Errorf("a move of this partition to %s is half done: finish that first", other.address)
	}
	m.from = &view{client: moveClient(m.from, m.from.client.Options().Addr), self: m.from.self, nodes: m.from.nodes}
	return nil
}

// run moves the slot. Every step can be repeated.
func (m *move) run(ctx context.Context) error {
	from, to := m.from, m.to
	there, err := to.client.ClusterCountKeysInSlot(ctx, m.slot).Result()
	if err != nil {
		return err
	}
	// Keys there although no move was begun, as this primary knows: it has just been promoted in the middle of one. Its
	// keys may then be older than those there, so they must not replace them.
	replace := there == 0 || from.self.migrating[m.slot] == to.self.id
	total, err := from.client.ClusterCountKeysInSlot(ctx, m.slot).Result()
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return to.client.Do(ctx, "cluster", "setslot", m.slot, "importing", from.self.id).Err() },
		func() error { return from.client.Do(ctx, "cluster", "setslot", m.slot, "migrating", to.self.id).Err() },
		func() error { return m.moveKeys(ctx, replace, int(total)) },
		// First there: a node that gives up a slot before another has it would lose it.
		func() error { return to.client.Do(ctx, "cluster", "setslot", m.slot, "node", to.self.id).Err() },
		func() error { return from.client.Do(ctx, "cluster", "setslot", m.slot, "node", to.self.id).Err() },
	}
	for _, step := range steps {
		m.progress(m.keys, int(total))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (m *move) moveKeys(ctx context.Context, replace bool, total int) error {
	batch := firstMoved
	for {
		keys, err := m.from.client.ClusterGetKeysInSlot(ctx, m.slot, batch).Result()
		if err != nil || len(keys) == 0 {
			return err
		}
		began := time.Now()
		if err := m.from.client.Do(ctx, m.migrate(keys, replace)...).Err(); err != nil {
			if strings.HasPrefix(err.Error(), "BUSYKEY") {
				err = fmt.Errorf("both primaries have the same keys, because of a failover in the middle of a move: compare them, and delete those that are older: %w", err)
			}
			return err
		}
		m.keys += len(keys)
		took := max(time.Since(began), time.Millisecond)
		batch = min(max(int(int64(batch)*int64(moveSilence)/int64(took)), firstMoved/10), 4*batch, mostMoved)
		m.progress(m.keys, max(total, m.keys))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// migrate is the command that moves keys.
func (m *move) migrate(keys []string, replace bool) []any {
	host, port, _ := net.SplitHostPort(m.from.node(m.to.self.id).address)
	words := []any{"migrate", host, port, "", 0, moveTimeout.Milliseconds()}
	if replace {
		words = append(words, "replace")
	}
	switch o := m.to.client.Options(); {
	case o.Username != "":
		words = append(words, "auth2", o.Username, o.Password)
	case o.Password != "":
		words = append(words, "auth", o.Password)
	}
	return append(append(words, "keys"), wire.Anys(keys)...)
}

// view is a node of a cluster, and all nodes as it sees them.
type view struct {
	client *redis.Client
	self   *clusterNode
	nodes  []*clusterNode
}

// clusterNode is a line of CLUSTER NODES.
type clusterNode struct {
	id, address, flags string
	slots              [][2]int
	migrating          map[int]string // ids of nodes by slot; only of the node that replies
}

func (n *clusterNode) owns(slot int) bool {
	return slices.ContainsFunc(n.slots, func(s [2]int) bool { return s[0] <= slot && slot <= s[1] })
}

func (n *clusterNode) isPrimary() bool {
	flags := strings.Split(n.flags, ",")
	return slices.Contains(flags, "master") && !slices.Contains(flags, "fail")
}

func (v *view) node(id string) *clusterNode {
	for _, n := range v.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (v *view) slotOf(ctx context.Context, p keys.Partition) int {
	return int(v.client.ClusterKeySlot(ctx, p.Meta()).Val())
}

// moveClient returns a client of another node of a cluster, or of the same one, that waits longer and repeats nothing.
func moveClient(like *view, address string) *redis.Client {
	o := *like.client.Options()
	o.Addr, o.ReadTimeout, o.MaxRetries = address, moveTimeout, -1
	return redis.NewClient(&o)
}

// openCluster finds the partitions of a site, and asks all primaries that have slots. Nothing of it needs a whole partition.
func openCluster(ctx context.Context, client redis.UniversalClient) (r *redisrepo.Repo, views []*view, err error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return nil, nil, &wire.PartitionsError{Problem: "only partitions in a Redis Cluster can move: name it as redis+cluster://host1,host2"}
	}
	if r, err = redisrepo.Find(ctx, cluster, site.DefaultRules()); err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	cluster.ReloadState(ctx)
	err = cluster.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
		v, err := viewOf(ctx, primary)
		mu.Lock()
		defer mu.Unlock()
		views = append(views, v)
		return err
	})
	return r, views, failover.Wrap("ask all primaries: a partition moves only while all of them reply", err)
}

func viewOf(ctx context.Context, client *redis.Client) (*view, error) {
	text, err := client.ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	v := &view{client: client}
	for line := range strings.Lines(text) {
		n := parseNode(strings.Fields(line))
		if v.nodes = append(v.nodes, n); strings.Contains(n.flags, "myself") {
			v.self = n
		}
	}
	if v.self == nil {
		return nil, errors.New("the node does not name itself in CLUSTER NODES")
	}
	return v, nil
}

// parseNode parses a line of CLUSTER NODES: id, address@bus, flags, primary, and after four others the slots, of which
// [1-<-id] and [1->-id] are on their way.
func parseNode(words []string) *clusterNode {
	n := &clusterNode{migrating: map[int]string{}}
	if len(words) < 8 {
		return n
	}
	n.id, n.flags = words[0], words[2]
	address, _, _ := strings.Cut(words[1], "@")
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		n.address = net.JoinHostPort(address[:colon], address[colon+1:])
	}
	for _, word := range words[8:] {
		var first, last int
		var id string
		switch found, _ := fmt.Sscanf(word, "%d-%d", &first, &last); {
		case found == 2:
			n.slots = append(n.slots, [2]int{first, last})
		case found == 1:
			n.slots = append(n.slots, [2]int{first, first})
		default:
			if found, _ := fmt.Sscanf(strings.TrimSuffix(word, "]"), "[%d->-%s", &first, &id); found == 2 {
				n.migrating[first] = id
			}
		}
	}
	return n
}

// findView returns the primary with an address, which may have no slots yet.
func findView(ctx context.Context, views []*view, address string) (*view, error) {
	var primaries []string
	for _, v := range views {
		for _, n := range v.nodes {
			if n.isPrimary() && !slices.Contains(primaries, n.address) {
				primaries = append(primaries, n.address)
			}
		}
	}
	slices.Sort(primaries)
	if !slices.Contains(primaries, address) {
		return nil, fmt.Errorf("%s is not a primary of the cluster: these are %s", address, strings.Join(primaries, ", "))
	}
	client := moveClient(views[0], address)
	v, err := viewOf(ctx, client)
	if err != nil {
		return nil, errors.Join(failover.Wrap("ask "+address, err), client.Close())
	}
	return v, nil
}
