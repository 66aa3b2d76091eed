// Package queue runs items of work on other machines through a work queue of NATS
// JetStream (https://docs.nats.io/nats-concepts/jetstream). A publisher (Publish) puts
// the items of a batch on the queue and receives their results as they arrive. Workers
// (Work), in the same process or elsewhere, take items of any batch of their version and
// store results in the batch's stream. No shared disk is needed.
//
// An item runs at least once, and its result is delivered exactly once: an item is
// removed from the queue after its result is stored, and a result after the publisher has
// processed it. Killing a worker, the publisher or the server (if its store survives)
// loses only time.
//
// The caller defines items and how they run. It also stores finished results, so that
// later batches can omit them. Begin reading with Publish and Work.
package queue

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Item is a piece of work.
type Item struct {
	// Key identifies the item in the batch: letters, digits, '-', '_' and '=', such as a
	// hexadecimal digest of the payload. Items with the same key in one batch must have
	// the same payload.
	Key string
	// Payload returns the data for the worker. It is called when the item is published,
	// from one goroutine, so payloads need not be in memory at the same time. If it
	// fails, the item fails.
	Payload func() ([]byte, error)
}

// Result is the result of an item.
type Result struct {
	Key string `json:"key"`
	// Return value of Func; nil if the item failed.
	Data []byte `json:"data,omitempty"`
	// Failed is the reason of a failure in one line; "" if the item succeeded.
	Failed string `json:"failed,omitempty"`
	// Permanent reports that the item fails each time, so that a retry is useless.
	Permanent bool `json:"always,omitempty"`
}

// MaxResult is the maximum size of a result in bytes. The largest ones of sim, with a
// hundred thousand trials, have about 6 MB.
const MaxResult = 16 << 20

// Func computes an item from its payload. It must be safe for concurrent use and return
// soon after ctx ends. An error is the result of the item: it is reported to the
// publisher and not retried. If ctx has ended, the item returns to the queue instead.
type Func func(ctx context.Context, payload []byte) ([]byte, error)

// EmbeddedURL stands for a server in the publisher's process.
const EmbeddedURL = "embedded"

// ErrNoServer reports that the program was built without the server for EmbeddedURL.
var ErrNoServer = errors.New("queue: this sim was built without a server; build it with -tags nats, or start nats-server -js and give its address")

// Server is a NATS server with JetStream in this process. Package embedded implements it.
type Server interface {
	nats.InProcessConnProvider
	Token() string // token that clients need; may be empty
	URL() string   // address for other processes, with the token; "" if they cannot connect
	Close() error  // stops it and removes a temporary store
}

// ServerStarter starts a Server; see embedded.Start.
type ServerStarter func(address, token string, log func(format string, args ...any)) (Server, error)

// Peer is the common configuration of publishers and workers. URL and Version are
// required.
type Peer struct {
	// URL is the server's address: nats://host:4222 or tls://host:4222, with
	// user:password@ or token@ if needed, or several addresses of a cluster separated by
	// commas. Publishers may use EmbeddedURL.
	URL string
	// Version is the version of the items. Workers ignore items of other versions.
	Version string
	// Credentials is the path of a NATS credentials file, or "".
	Credentials string
	// Token is the token for servers whose addresses, in URL or Options.Listen, contain none. It
	// keeps the token out of command lines, which other users can see. "" if the servers need
	// no token. It is not used together with Credentials.
	Token string
	// Workers is the number of items that run at a time. For workers, 0 means GOMAXPROCS.
	// Publishers with 0 have no workers of their own; with an embedded server, they then require
	// Options.Listen.
	Workers int
	// Log receives messages for people, one line each; it may be nil. Calls do not
	// overlap.
	Log func(format string, args ...any)

	// AckWait is the time without a sign of life after which the queue gives an item to
	// another worker; 0: 30 s. The first process that connects to a server determines it.
	AckWait time.Duration
	// Reconnect is the maximum time without a connection; 0: one minute.
	Reconnect time.Duration
	// Attempts is the number of starts by workers that then vanish after which an item
	// fails; 0: 5.
	Attempts int

	checkInterval time.Duration // interval of checks of an idle batch; 0: 5 s
	// Interval of searches for items of other versions; 0: 10 s.
	versionCheckInterval time.Duration
	fetchWait            time.Duration // duration of a request for items; 0: 800 ms
}

// Options configure a publisher. Name is required.
type Options struct {
	Peer
	// Name is the name of the batch. An interrupted batch continues when it is published
	// again under its name. Batches published at the same time need different names.
	Name string
	// Run is the function of the workers in this process.
	Run Func
	// Listen is the address on which an embedded server accepts workers of other
	// processes, such as ":4222", or "TOKEN@:4222" to require a token; "": none.
	Listen string
	// Embed starts the server for EmbeddedURL; nil if the program has none.
	Embed ServerStarter

	// MaxOutstanding is the maximum number of outstanding items; 0: 20000.
	MaxOutstanding int
}

// WorkerOptions configure a worker.
type WorkerOptions struct {
	Peer
	// Idle is the time without work after which the worker ends; 0: never.
	Idle time.Duration
}

// withDefaults returns p with defaults for zero values.
func (p Peer) withDefaults() Peer {
	p.AckWait = cmp.Or(p.AckWait, 30*time.Second)
	p.Reconnect = cmp.Or(p.Reconnect, time.Minute)
	p.Attempts = cmp.Or(p.Attempts, 5)
	p.checkInterval = cmp.Or(p.checkInterval, 5*time.Second)
	p.versionCheckInterval = cmp.Or(p.versionCheckInterval, 10*time.Second)
	p.fetchWait = cmp.Or(p.fetchWait, 800*time.Millisecond)
	p.Log = serialize(p.Log)
	return p
}

// serialize returns a log function whose calls do not overlap. log may be nil.
func serialize(log func(string, ...any)) func(string, ...any) {
	if log == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		log(format, args...)
	}
}

// processName identifies this process for other processes.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return host + ", process " + strconv.Itoa(os.Getpid())
}

// sleep waits for d or until ctx ends. It returns false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
