package wire

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// PartitionOfKey returns the partition whose tag a key begins with; the site may not have that partition.
func (r *Store) PartitionOfKey(key string) keys.Partition {
	if r.Partitions[0] == keys.Untagged {
		return keys.Untagged
	}
	return keys.Partition(key[:strings.IndexByte(key, '}')+1])
}

// clusterPartitions is the number of partitions of a new site in a Redis Cluster, unless the operator chose another.
const clusterPartitions = 16

// PartitionsError is the error of opening a site with an invalid number of partitions, or one that is not the site's.
type PartitionsError struct{ Problem string }

func (e *PartitionsError) Error() string { return e.Problem }

// CheckPartitions returns a *PartitionsError if no site can have n partitions. 0 stands for the default.
func CheckPartitions(n int) error {
	if n < 0 || n > keys.MaxPartitions || bits.OnesCount(uint(n)) > 1 { // #nosec G115 -- not negative
		return &PartitionsError{fmt.Sprintf("%d is not one of 1, 2, 4, 8, 16, 32, 64, 128 and %d", n, keys.MaxPartitions)}
	}
	return nil
}

// findPartitions decides on the partitions: those of the site in the store, or those of a new one. It changes nothing.
func (r *Store) findPartitions(ctx context.Context, wanted int) error {
	if err := CheckPartitions(wanted); err != nil {
		return err
	}
	record, err := r.Client.HMGet(ctx, keys.Untagged.Meta(), keys.FieldPartitions, keys.FieldIndex, keys.FieldLayout).Result()
	if err != nil {
		return failover.Wrap("read "+keys.Untagged.Meta(), err)
	}
	r.Incomplete = record[2] == IncompleteLayout
	_, cluster := r.Client.(*redis.ClusterClient)
	n, isTagged := 0, cluster || wanted > 1
	if text, ok := record[0].(string); ok {
		if n, err = strconv.Atoi(text); err != nil || n == 0 || CheckPartitions(n) != nil {
			return fmt.Errorf("%s: %q is no number of partitions", keys.Untagged.Meta(), text)
		}
		isTagged = record[1] == strconv.Itoa(keys.SiteIndex)
	} else if isTagged {
		// Articles of legacy clients are a site without a record, and without tags.
		articles, err := r.Client.Exists(ctx, keys.Untagged.Ranking(site.ByTime)).Result()
		if err != nil {
			return failover.Wrap("look for articles", err)
		}
		if articles > 0 {
			n, isTagged = 1, false
		}
	}
	switch {
	case cluster && !isTagged:
		return &PartitionsError{"the keys of the site in this store have no tags, which Redis Cluster requires"}
	case n != 0 && wanted != 0 && n != wanted:
		return &PartitionsError{fmt.Sprintf("the site in this store has %s, not %d", keys.PartitionsText(n), wanted)}
	case !isTagged:
		r.Partitions = []keys.Partition{keys.Untagged}
	case cluster:
		r.Partitions = keys.Tagged(cmp.Or(n, wanted, clusterPartitions))
	default:
		r.Partitions = keys.Tagged(cmp.Or(n, wanted))
	}
	return nil
}
