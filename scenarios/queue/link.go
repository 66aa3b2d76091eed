// This file connects publishers and workers to a server, and handles the loss of the
// connection.

package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// queueLink is a connection to the queue.
type queueLink struct {
	Peer // options of the process, such as Log and Reconnect
	// embedded is a server in this process, which is used instead of Peer.URL. It may be nil.
	embedded Server
	address  string // URL without secrets
	nc       *nats.Conn
	js       jetstream.JetStream

	// ctx ends with the context given to dial, or if the connection was lost for too
	// long. Its cause then says so.
	ctx  context.Context
	fail context.CancelCauseFunc

	mu             sync.Mutex
	reconnectTimer *time.Timer // runs while the connection is lost
	// epoch ends when the connection is lost: pending requests get no answer.
	epoch    context.Context
	endEpoch context.CancelFunc // ends epoch
}

// callTimeout is the maximum time for the answer to a request.
const callTimeout = 5 * time.Second

// requestContext returns the context of a request. It ends after callTimeout, with ctx, or if
// the connection is lost, because then no answer arrives.
func (l *queueLink) requestContext(ctx context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	epoch := l.epoch
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	stop := context.AfterFunc(epoch, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// connectTimeout is the maximum time for a server to accept a connection. Tests reduce
// it.
var connectTimeout = 3 * time.Second

// dial connects and verifies that the server has JetStream. inside is a server in this
// process, which is used instead of o.URL; it may be nil. The caller must close the
// link.
func dial(ctx context.Context, o Peer, inside Server) (*queueLink, error) {
	l := &queueLink{Peer: o, embedded: inside, address: plainURL(o.URL)}
	if o.Version == "" {
		return nil, errors.New("queue: a version is needed")
	}
	if err := CheckURL(o.URL); inside == nil && err != nil {
		return nil, err
	}
	l.ctx, l.fail = context.WithCancelCause(ctx)
	l.epoch, l.endEpoch = context.WithCancel(context.Background())
	// A connection is lost after three pings without an answer. The client then reconnects by
	// itself; disconnected limits the time for this, so there is no limit of attempts.
	const unlimited = -1
	opts := []nats.Option{
		nats.Name("sim (" + processName() + ")"), nats.Timeout(connectTimeout), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(3),
		nats.MaxReconnects(unlimited), nats.ReconnectWait(min(500*time.Millisecond, o.Reconnect/4)),
		nats.DisconnectErrHandler(l.disconnected), nats.ReconnectHandler(l.reconnected), nats.ClosedHandler(l.closed),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Log("%s: %v", l.address, err) }),
	}
	switch {
	case o.Credentials != "":
		opts = append(opts, nats.UserCredentials(o.Credentials))
	case o.Token != "" && inside == nil:
		// For servers without a token in the URL.
		opts = append(opts, nats.Token(o.Token))
	}
	if inside != nil {
		opts = append(opts, nats.InProcessServer(inside), nats.Token(inside.Token()))
	}
	// Connect, then check that the server has JetStream.
	var err error
	if l.nc, err = nats.Connect(o.URL, opts...); err != nil {
		l.fail(nil)
		l.endEpoch()
		return nil, l.connectError(err)
	}
	if l.js, err = jetstream.New(l.nc, jetstream.WithPublishAsyncMaxPending(4*feedItems), jetstream.WithPublishAsyncTimeout(sendTimeout)); err == nil {
		err = l.checkJetStream()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close closes the connection after pending messages are sent.
func (l *queueLink) close() {
	if l.nc.IsConnected() {
		const flushTimeout = 2 * time.Second // a connected server answers sooner
		if err := l.nc.FlushTimeout(flushTimeout); err != nil && l.ctx.Err() == nil {
			l.Log("%s: the last messages may be lost: %v", l.address, err)
		}
	}
	l.fail(nil)
	if l.js != nil {
		// Otherwise goroutines of a lost connection may remain.
		l.js.CleanupPublisher()
	}
	l.nc.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endEpoch()
	if l.reconnectTimer != nil {
		l.reconnectTimer.Stop()
	}
}

// connectError returns a one-line error for a failed connection.
func (l *queueLink) connectError(err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%s: the server does not accept this user, token or credentials file", l.address)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("%s: no server answers; start one with: nats-server -js", l.address)
	case errors.Is(err, nats.ErrTimeout), strings.Contains(err.Error(), "i/o timeout"):
		return fmt.Errorf("%s: no server answers within %v; start one with: nats-server -js", l.address, connectTimeout)
	}
	return fmt.Errorf("%s: no connection: %w", l.address, err)
}

// checkJetStream returns an error if the server does not offer JetStream to this account.
func (l *queueLink) checkJetStream() error {
	ctx, cancel := l.requestContext(l.ctx)
	defer cancel()
	_, err := l.js.AccountInfo(ctx)
	switch {
	case err == nil:
		return nil
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%s: the server runs without JetStream; start it with: nats-server -js", l.address)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%s: the server has JetStream, but not for this account", l.address)
	}
	return fmt.Errorf("%s: JetStream does not answer: %w", l.address, err)
}

// disconnected handles the loss of the connection. It ends the epoch, so that pending requests
// fail, and lets the link fail unless the connection returns within Peer.Reconnect.
func (l *queueLink) disconnected(_ *nats.Conn, err error) {
	if l.ctx.Err() != nil {
		return
	}
	l.Log("%s: the connection is lost (%v); trying for %v to have it back", l.address, cmp.Or(err, errors.New("closed by the server")), l.Reconnect)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reconnectTimer != nil {
		l.reconnectTimer.Stop()
	}
	l.endEpoch()
	l.epoch, l.endEpoch = context.WithCancel(context.Background())
	l.reconnectTimer = time.AfterFunc(l.Reconnect, func() { l.fail(l.lostError()) })
}

// reconnected handles the return of the connection.
func (l *queueLink) reconnected(*nats.Conn) {
	l.mu.Lock()
	if l.reconnectTimer != nil {
		l.reconnectTimer.Stop()
	}
	l.mu.Unlock()
	l.Log("%s: connected again", l.address)
}

// closed handles the final end of the connection.
func (l *queueLink) closed(*nats.Conn) { l.fail(l.lostError()) }

// lostError returns the error for a connection that did not return in time.
func (l *queueLink) lostError() error {
	return fmt.Errorf("%s: the connection was lost and did not come back within %v; what was finished is kept", l.address, l.Reconnect)
}

// CheckURL fails if text is neither the URL of a server nor several URLs separated by
// commas. Commands call it before they start.
func CheckURL(text string) error {
	for s := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || u.Host == "" {
			return fmt.Errorf("queue: %q is no address of a server; write nats://HOST:4222", plainURL(s))
		}
		if u.User != nil && u.User.Username() == "" {
			return fmt.Errorf("queue: there is no token before the @ of %q; write nats://TOKEN@%s", s, plainURL(u.Host))
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("queue: %q is no address of a server; write nats://HOST:4222 or tls://HOST:4222", plainURL(s))
		}
	}
	return nil
}

// plainURL removes users, passwords and tokens from URLs.
func plainURL(text string) string {
	parts := strings.Split(text, ",")
	for i, s := range parts {
		scheme, rest, ok := strings.Cut(strings.TrimSpace(s), "://")
		if !ok {
			scheme, rest = "", scheme
		} else {
			scheme += "://"
		}
		parts[i] = scheme + rest[strings.LastIndex(rest, "@")+1:]
	}
	return strings.Join(parts, ",")
}
