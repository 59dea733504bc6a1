// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argoredis reads and writes Argo CD's Redis.
package argoredis

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// Options are the flags of an Argo CD and its Redis.
type Options struct {
	Address, Namespace, Secret string
	Compression                string
	TLS                        bool
	CAFile                     string
}

// BindFlags adds the flags. Their words are Argo CD's.
func (o *Options) BindFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.Address, "redis", "", "host and port of Argo CD's Redis; empty: argocd-redis in Argo CD's namespace, port 6379")
	fs.StringVar(&o.Namespace, "argocd-namespace", "argocd", "namespace of Argo CD")
	fs.StringVar(&o.Secret, "redis-secret", "argocd-redis", "Secret in Argo CD's namespace with the password of Redis below auth; empty: none")
	fs.StringVar(&o.Compression, "redis-compress", "gzip", "compression of what is in Redis, as Argo CD is configured: gzip or none")
	fs.BoolVar(&o.TLS, "redis-use-tls", false, "use TLS to reach Redis")
	fs.StringVar(&o.CAFile, "redis-ca-certificate", "", "file with the CA of Redis; empty: the CAs of the system")
}

// Validate names every flag with an impossible value.
func (o *Options) Validate() error {
	var failed []error
	if o.Namespace == "" {
		failed = append(failed, errors.New("--argocd-namespace is empty"))
	}
	if o.Compression != "gzip" && o.Compression != "none" {
		failed = append(failed, fmt.Errorf("--redis-compress is %q, want gzip or none", o.Compression))
	}
	if o.CAFile != "" && !o.TLS {
		failed = append(failed, errors.New("--redis-ca-certificate has no effect without --redis-use-tls"))
	}
	return errors.Join(failed...)
}

// Redis is the Redis of an Argo CD. It is safe for concurrent use.
type Redis struct {
	client *redis.Client
	suffix string
	// process distinguishes the records of [Redis.Begin] from those of an earlier process.
	process string

	mu      sync.Mutex
	scanned time.Time
	foreign map[string]string // the key of each instance with a tree that another Argo CD writes
}

const (
	// maxShards bounds how many keys a tree is read from.
	maxShards = 64
	timeout   = 5 * time.Second
)

// New returns a client that connects at its first use. secrets reads the password for each
// connection, so that a rotated password needs no restart.
func New(o Options, secrets client.Reader) (*Redis, error) {
	options := &redis.Options{Addr: cmp.Or(o.Address, "argocd-redis."+o.Namespace+".svc:6379"), DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, MaxRetries: 1, DisableIdentity: true}
	if o.TLS {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.CAFile != "" {
			pem, err := os.ReadFile(o.CAFile)
			if err != nil {
				return nil, fmt.Errorf("--redis-ca-certificate: %w", err)
			}
			options.TLSConfig.RootCAs = x509.NewCertPool()
			if !options.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("--redis-ca-certificate: %s has no certificate", o.CAFile)
			}
		}
	}
	if o.Secret != "" {
		key := client.ObjectKey{Namespace: o.Namespace, Name: o.Secret}
		options.CredentialsProviderContext = func(ctx context.Context) (user, password string, err error) {
			secret := &corev1.Secret{}
			if err := secrets.Get(ctx, key, secret); err != nil {
				if apierrors.IsNotFound(err) {
					return "", "", nil // a Redis without password
				}
				return "", "", fmt.Errorf("read the password of Redis: %w", err)
			}
			return "", string(secret.Data["auth"]), nil
		}
	}
	return &Redis{client: redis.NewClient(options), suffix: view.Suffix(o.Compression), process: rand.Text()}, nil
}

// Close ends all connections.
func (r *Redis) Close() error { return r.client.Close() }

// ErrNone is returned while Redis has no tree of an Application.
var ErrNone = errors.New("no tree of the Application in Redis yet")

// Read returns the view that Argo CD's controller has written about an instance. If Redis only has
// keys of another cache version, the error names it.
func (r *Redis) Read(ctx context.Context, instance string) (v view.View, err error) {
	first, err := r.get(ctx, view.TreeKey(instance, 0))
	if errors.Is(err, redis.Nil) {
		return v, r.explain(ctx, instance)
	}
	if err != nil {
		return v, err
	}
	if v.Tree, err = r.join(ctx, instance, first); err != nil {
		return v, err
	}
	v.Resources, err = r.get(ctx, view.ResourcesKey(instance))
	switch {
	case errors.Is(err, redis.Nil):
		return v, ErrNone
	case errors.Is(err, view.ErrTooLarge):
		v.Resources, v.Cut, err = []byte("[]"), "without managed resources, which are larger than "+strconv.Itoa(view.MaxDecoded>>20)+" MiB", nil
	}
	return v, err
}

// join reads the further shards of a tree, which together are bounded as one is.
func (r *Redis) join(ctx context.Context, instance string, first []byte) ([]byte, error) {
	shards, err := view.Shards(first)
	if err != nil || shards == 1 {
		return first, err
	}
	if shards > maxShards {
		return nil, fmt.Errorf("the resource tree has %d shards, at most %d are read: raise ARGOCD_APPLICATION_TREE_SHARD_SIZE", shards, maxShards)
	}
	all, size := append(make([][]byte, 0, shards), first), len(first)
	for shard := 1; shard < shards; shard++ {
		raw, err := r.get(ctx, view.TreeKey(instance, shard))
		if errors.Is(err, redis.Nil) {
			return nil, ErrNone // it is being written
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > view.MaxDecoded {
			return nil, fmt.Errorf("read the %d shards of the resource tree: %w than %d bytes", shards, view.ErrTooLarge, view.MaxDecoded)
		}
		all = append(all, raw)
	}
	return view.Merge(all...)
}

// get returns the value of a key, or redis.Nil if Redis has no such key. It reads at most as many
// bytes as a view may have, compressed or not.
func (r *Redis) get(ctx context.Context, key string) ([]byte, error) {
	raw, err := r.client.GetRange(ctx, key+r.suffix, 0, view.MaxDecoded).Bytes()
	switch {
	case err != nil:
	case len(raw) == 0:
		err = redis.Nil
	case len(raw) > view.MaxDecoded:
		err = fmt.Errorf("%w than %d bytes", view.ErrTooLarge, view.MaxDecoded)
	case r.suffix != "":
		raw, err = view.Decompress(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return raw, nil
}

// rescan is how often at most all keys are listed, and maxForeign how many of them are kept.
const (
	rescan     = time.Minute
	maxForeign = 10_000
)

// explain returns why no tree exists. A key of another cache version, or of another compression, is
// never interpreted.
func (r *Redis) explain(ctx context.Context, instance string) error {
	other := view.TreeKey(instance, 0)
	if r.suffix == "" {
		other += view.Suffix("gzip")
	}
	n, err := r.client.Exists(ctx, other).Result()
	if err != nil {
		return fmt.Errorf("look for %s: %w", other, err)
	}
	if n == 0 {
		if other, err = r.foreignKey(ctx, instance, time.Now()); err != nil {
			return err
		}
	}
	if other == "" {
		return ErrNone
	}
	return fmt.Errorf("found %s in Redis, of another cache version or compression than %s%s: nothing of it is read; update liveview, or set --redis-compress",
		strings.ToValidUTF8(other, "?"), view.CacheVersion, r.suffix)
}

// foreignKey returns the key of an instance's tree of another cache version. It returns "" if no such
// key exists. All keys are listed for all instances together, once in [rescan], because a list takes
// time of Argo CD's Redis.
func (r *Redis) foreignKey(ctx context.Context, instance string, now time.Time) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.scanned) < rescan {
		return r.foreign[instance], nil
	}
	found := map[string]string{}
	keys := r.client.Scan(ctx, 0, view.TreePattern, 1000).Iterator()
	for len(found) < maxForeign && keys.Next(ctx) {
		if of, foreign := view.ParseTreeKey(keys.Val()); foreign {
			found[of] = keys.Val()
		}
	}
	if err := keys.Err(); err != nil {
		return "", fmt.Errorf("list the resource trees: %w", err)
	}
	r.scanned, r.foreign = now, found
	return found[instance], nil
}

// Watched returns the cache version of each instance that argocd-server has an open page of.
func (r *Redis) Watched(ctx context.Context) (map[string]string, error) {
	channels, err := r.client.PubSubChannels(ctx, view.ChannelPattern).Result()
	if err != nil {
		return nil, fmt.Errorf("list the channels of Redis: %w", err)
	}
	watched := make(map[string]string, len(channels))
	for _, c := range channels {
		if instance, version, ok := view.ParseChannel(c); ok {
			watched[instance] = version
		}
	}
	return watched, nil
}

// Write replaces the data of an instance in Redis, for a time, and updates open pages.
func (r *Redis) Write(ctx context.Context, instance string, v view.View, expiration time.Duration) error {
	pair := map[string][]byte{view.TreeKey(instance, 0): v.Tree, view.ResourcesKey(instance): v.Resources}
	_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for key, value := range pair {
			if r.suffix != "" {
				var err error
				if value, err = view.Compress(value); err != nil {
					return err
				}
			}
			p.Set(ctx, key+r.suffix, value, expiration)
		}
		p.Publish(ctx, view.ResourcesKey(instance), "")
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the tree of %s: %w", instance, err)
	}
	return nil
}

// suspension is how long a view is not decoded after the process ended while it decoded it.
const suspension = 10 * time.Minute

func decodingKey(instance string) string {
	return "liveview|decoding|" + instance + "|" + view.CacheVersion
}

// Begin records that the view of an instance is being decoded. It returns false if a record of an
// earlier process exists without a [Redis.End]. That process ended while it was decoding, and this
// one would end, too. A record of this process only shows that a reply of Redis was lost.
func (r *Redis) Begin(ctx context.Context, instance string) (bool, error) {
	key := decodingKey(instance)
	ok, err := r.client.SetNX(ctx, key, r.process, suspension).Result()
	if err == nil && !ok {
		var process string
		process, err = r.client.Get(ctx, key).Result()
		ok = process == r.process
	}
	if err != nil {
		return false, fmt.Errorf("note that the view of %s is being decoded: %w", instance, err)
	}
	return ok, nil
}

// End removes the record of [Redis.Begin], even if ctx has ended.
func (r *Redis) End(ctx context.Context, instance string) error {
	if err := r.client.Del(context.WithoutCancel(ctx), decodingKey(instance)).Err(); err != nil {
		return fmt.Errorf("note that the view of %s was decoded: %w", instance, err)
	}
	return nil
}

// Remove takes an instance out of Redis.
func (r *Redis) Remove(ctx context.Context, instance string) error {
	if err := r.client.Del(ctx, view.TreeKey(instance, 0)+r.suffix, view.ResourcesKey(instance)+r.suffix).Err(); err != nil {
		return fmt.Errorf("remove the tree of %s: %w", instance, err)
	}
	return nil
}
