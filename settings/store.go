package settings

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"frontpage/redisrepo/store"
	"frontpage/redisrepo/wire"
)

// Store are the settings of the store.
type Store struct {
	Command string `kong:"-"` // the subcommand that runs; empty: the server

	RedisURL      string        `placeholder:"URL" help:"The store: redis://, rediss:// (TLS), unix://, redis+sentinel://h1,h2/master, rediss+sentinel:// (TLS), redis+cluster://h1,h2, rediss+cluster:// (TLS), spawn:///dir (a private redis-server) or memory://. If unset: a private redis-server with its data in FRONTPAGE_DATA_DIR. If neither redis-server nor valkey-server is installed: memory, for trying out only. The start refuses it with data in FRONTPAGE_DATA_DIR, sign-in, FRONTPAGE_PUBLIC_URL, TLS, or an address that is not a loopback one."`
	RedisURLFile  string        `name:"redis-url-file" hidden:""`
	RedisTimeout  time.Duration `default:"400ms" help:"Maximum wait for a reply from the store, at least 1ms."`
	RedisAcks     *int          `placeholder:"N" help:"Replicas that must have received a write before it is acknowledged, 0 to ${MaxAcks}. Default: 1 in a Redis Cluster, otherwise 0."`
	RedisCAFile   string        `name:"redis-ca-file" placeholder:"FILE" help:"CA certificates, in PEM format, for a rediss:// server, instead of the system's."`
	RedisCertFile string        `placeholder:"FILE" help:"Client certificate for a rediss:// server that requires one, with its key in FRONTPAGE_REDIS_KEY_FILE."`
	RedisKeyFile  string        `placeholder:"FILE" help:"Private key of that certificate."`
	DataDir       string        `default:"./data" help:"Data directory of the private redis-server."`
	Partitions    int           `placeholder:"N" help:"Partitions of a new site: 1, 2, 4 and so on up to ${MaxPartitions}. They cannot be changed later: the start refuses another number. More than 1 was tested with Redis 7.0 and newer. Default: 1."`

	url string // of RedisURL or RedisURLFile, set by check
}

func (s *Store) check() (err error) {
	if s.url, err = secret(s.RedisURL, s.RedisURLFile, "redis-url", 0); err != nil {
		return err
	}
	if s.RedisTimeout < time.Millisecond {
		return Invalid(fmt.Errorf("%v is below 1ms", s.RedisTimeout), "redis-timeout")
	}
	if err := wire.CheckPartitions(s.Partitions); err != nil {
		return Invalid(err, "partitions")
	}
	if s.RedisAcks != nil && (*s.RedisAcks < 0 || *s.RedisAcks > store.MaxAcks) {
		return Invalid(fmt.Errorf("%d is not between 0 and %d", *s.RedisAcks, store.MaxAcks), "redis-acks")
	}
	return nil
}

// StoreOptions returns the options of the store.
func (s *Settings) StoreOptions(log *slog.Logger) store.Options {
	return store.Options{
		Keep: s.inUse(), URL: s.url, DataDir: s.DataDir, Timeout: s.RedisTimeout, Acks: s.RedisAcks, Log: log, Command: s.Command,
		TLS: store.TLS{CAFile: s.RedisCAFile, CertFile: s.RedisCertFile, KeyFile: s.RedisKeyFile},
		Names: map[string]string{
			"URL": Name(secretFlag(s.RedisURLFile, "redis-url")), "DataDir": Name("data-dir"), "Acks": Name("redis-acks"),
			"CAFile": Name("redis-ca-file"), "CertFile": Name("redis-cert-file"), "KeyFile": Name("redis-key-file"),
		},
	}
}

// inUse returns why other users than the one who started the server may use the site; empty: nothing says so.
func (s *Settings) inUse() string {
	address, err := net.ResolveTCPAddr("tcp", s.Addr)
	switch {
	case !s.Development():
		return "sign-in is configured"
	case s.PublicURL != "":
		return Variable("public-url") + " is set"
	case s.TLSCertFile != "":
		return Variable("tls-cert-file") + " is set"
	case err != nil || !address.IP.IsLoopback():
		return Variable("addr") + " is not a loopback address"
	}
	return ""
}
