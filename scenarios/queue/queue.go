// Package queue runs items of work on other machines, over a work queue of NATS JetStream
// (https://docs.nats.io/nats-concepts/jetstream). A publisher puts the items of a batch on the queue and is handed
// their results as they come; workers, in this process or anywhere else, take items of any batch of their version and
// store results in the batch's stream. No disk is shared.
//
// An item is run at least once and its result is handed over exactly once: an item is taken off the queue only when its
// result is stored, and a result only when the publisher is done with it. Killing a worker, the publisher or the server
// (if its store survives) loses nothing but time.
//
// What an item is, and what running it means, is the caller's matter; so is keeping finished results, so that a later
// batch leaves them out.
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
	// Key names the item, once in a batch: letters, digits, '-', '_' and '=', such as a hex digest of the payload.
	// Items of one key in one batch must have the same payload.
	Key string
	// Payload returns what the workers get. It is called when the item's turn comes, from one goroutine, so that a
	// million payloads need not be in memory. Where it fails, the item fails.
	Payload func() ([]byte, error)
}

// Result is what came of an item.
type Result struct {
	Key  string `json:"key"`
	Data []byte `json:"data,omitempty"` // what was returned for it; nil if it failed
	// Failed says why there is no result, in one line; "" means that there is one.
	Failed string `json:"failed,omitempty"`
	// Always: it fails each time, whoever runs it; trying again does not help.
	Permanent bool `json:"always,omitempty"`
}

// MaxResult is the largest result of an item, in bytes. The largest that sim has are those of a hundred thousand
// trials, of some 6 MB.
const MaxResult = 16 << 20

// Func does an item's work on its payload. It must be safe for concurrent use and return soon after ctx ends. An error
// is the item's result: it is reported to the publisher and not tried again. Only an error of an ended ctx is none: the
// item goes back to the queue.
type Func func(ctx context.Context, payload []byte) ([]byte, error)

// EmbeddedURL stands for a server within the publisher's process.
const EmbeddedURL = "embedded"

// ErrNoServer: the program was built without the server that EmbeddedURL stands for.
var ErrNoServer = errors.New("queue: this sim was built without a server; build it with -tags nats, or start nats-server -js and give its address")

// Server is a NATS server with JetStream in this process, as package embedded has one.
type Server interface {
	nats.InProcessConnProvider
	Token() string // what it asks for; "" if it asks for none
	URL() string   // where other processes reach it, token included; "" if they cannot
	Close() error  // stops it and removes its store if that is temporary
}

// Embed starts a Server, as embedded.Start does.
type Embed func(address, token string, log func(format string, args ...any)) (Server, error)

// Peer says how a publisher or a worker takes part in a queue. URL and Version are needed.
type Peer struct {
	// URL is the server's: nats://host:4222, tls://host:4222, with user:password@ or token@ if need be, several of a
	// cluster joined by commas; or, of publishers, EmbeddedURL.
	URL string
	// Version is that of the items; workers leave items of others alone.
	Version string
	// Credentials is the path of a NATS credentials file; "" if there is none.
	Credentials string
	// Token is what servers ask for whose addresses, in URL or Options.Listen, have none: for commands whose arguments
	// others see. "" if there is none. It is not used beside Credentials.
	Token string
	// Workers is the number of items that run at a time. 0 is GOMAXPROCS of workers and none of publishers, which an
	// embedded server without Options.Listen cannot do with.
	Workers int
	// Log is told what a person should know, a line each; nil: nobody is told. It is called from one goroutine at a
	// time.
	Log func(format string, args ...any)

	// AckWait is how long the queue waits for a sign of life before it gives an item to another worker; 0: 30 s.
	// Whoever is first at a server settles it.
	AckWait time.Duration
	// Reconnect is how long a lost connection may stay lost; 0: a minute.
	Reconnect time.Duration
	// Attempts is how often an item may be begun by workers that then vanish before it is reported as failed; 0: 5.
	Attempts int

	checkInterval        time.Duration // how often an idle batch is looked after; 0: 5 s
	versionCheckInterval time.Duration // how often items of other versions are looked for; 0: 10 s
	fetchWait            time.Duration // how long a request for items stands; 0: 800 ms
}

// Options say how a batch is published. Name is needed.
type Options struct {
	Peer
	// Name is the batch's. A batch that was interrupted goes on where it was when it is published again under its name;
	// two batches that run at a time need different names.
	Name string
	// Run is what the workers of this process do.
	Run Func
	// Listen is the address at which an embedded server takes workers of other processes, such as ":4222", or
	// "TOKEN@:4222" to ask for a token; "": none.
	Listen string
	// Embed starts the server that EmbeddedURL stands for; nil if the program has none.
	Embed Embed

	Ahead int // items that may be on the queue at a time; 0: 20000
}

// WorkerOptions say how a worker works.
type WorkerOptions struct {
	Peer
	// Idle ends the work when there was none for so long; 0: it never ends so.
	Idle time.Duration
}

// withDefaults returns the peer with the defaults of what is 0.
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

// serialize lets one goroutine log at a time.
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

// processName names this process to others.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return host + ", process " + strconv.Itoa(os.Getpid())
}

// sleep waits for d or until ctx ends, and reports whether it did not.
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
