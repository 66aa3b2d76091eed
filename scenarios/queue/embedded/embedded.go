// Package embedded runs a NATS server with JetStream in this process, for sweeps without
// a separate server. Only builds with the tag nats import it, because the server makes
// the program a third larger.
package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server with JetStream in this process. Start creates it.
type Server struct {
	s     *server.Server
	url   string // address with token; "" if it does not listen
	token string
	dir   string
	// stop closes the server once.
	stop func() error
}

// MaxPayload is the maximum size of an item in bytes. Other servers accept 1 MiB by
// default.
const MaxPayload = 8 << 20

// Start starts a server with its store in a temporary directory. It listens at address,
// HOST:PORT, for other processes, which need token unless it is empty. If address is
// empty, only this process can connect. Port 0 stands for any free port. log receives the
// server's errors, without overlapping calls; it may be nil.
func Start(address, token string, log func(format string, args ...any)) (*Server, error) {
	host, port := "", 0
	if address != "" {
		var service string
		var err error
		if host, service, err = net.SplitHostPort(address); err == nil {
			port, err = strconv.Atoi(service)
		}
		if err != nil {
			return nil, fmt.Errorf("queue: %q is no address to listen at: %w", address, err)
		}
		if port == 0 {
			port = server.RANDOM_PORT
		}
	}
	if log == nil {
		log = func(string, ...any) {}
	}

	// Create the store and set up the server.
	e := &Server{token: token}
	var err error
	if e.dir, err = os.MkdirTemp("", "sim-queue-"); err != nil {
		return nil, fmt.Errorf("queue: no place for the embedded server's store: %w", err)
	}
	e.stop = sync.OnceValue(e.close)
	errs := &serverLog{log: log}
	e.s, err = server.NewServer(&server.Options{
		ServerName: "sim", DontListen: address == "", Host: host, Port: port, Authorization: token,
		JetStream: true, StoreDir: e.dir, MaxPayload: MaxPayload, NoSigs: true, NoLog: true,
		JetStreamMaxMemory: -1, JetStreamMaxStore: -1, // no limits
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("queue: the embedded server cannot be set up: %w", err), e.stop())
	}

	// Wait until the server accepts connections, or reports a fatal error.
	e.s.SetLoggerV2(errs, false, false, false)
	e.s.Start()
	for begun := time.Now(); !e.s.ReadyForConnections(20 * time.Millisecond); {
		why := errs.fatalMessage()
		if why == "" && (time.Since(begun) > 10*time.Second || !e.s.Running()) {
			why = "it is not ready after 10 s"
		}
		if why != "" {
			return nil, errors.Join(fmt.Errorf("queue: the embedded server does not start: %s", why), e.stop())
		}
	}

	// Port 0 has been replaced by the real port.
	if a, ok := e.s.Addr().(*net.TCPAddr); ok && address != "" {
		if host == "" {
			host = "127.0.0.1"
		}
		at := url.URL{Scheme: "nats", Host: net.JoinHostPort(host, strconv.Itoa(a.Port))}
		if token != "" {
			at.User = url.User(token)
		}
		e.url = at.String()
	}
	return e, nil
}

// InProcessConn connects to the server within this process.
func (e *Server) InProcessConn() (net.Conn, error) { return e.s.InProcessConn() }

// Token returns the token that clients need, or "".
func (e *Server) Token() string { return e.token }

// URL returns the server's address with the token, or "" if it does not listen.
func (e *Server) URL() string { return e.url }

// Close stops the server and removes its store.
func (e *Server) Close() error { return e.stop() }

// close waits for the end of the server, because it writes to its store until then.
func (e *Server) close() error {
	if e.s != nil {
		e.s.Shutdown()
		e.s.WaitForShutdown()
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("queue: the embedded server's store remains: %w", err)
	}
	return nil
}

// serverLog forwards a server's errors and stores the first fatal one.
type serverLog struct {
	log       func(string, ...any)
	mu        sync.Mutex
	fatalText string
}

// fatalMessage returns the first fatal error, or "".
func (l *serverLog) fatalMessage() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatalText
}

// Fatalf stores the first fatal error. The server continues after the call, so Start reads it.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatalText == "" {
		l.fatalText = fmt.Sprintf(format, args...)
	}
}

// Errorf forwards an error. Warnings and notices are dropped.
func (l *serverLog) Errorf(format string, args ...any) {
	l.log("the embedded server: "+format, args...)
}

func (l *serverLog) Warnf(string, ...any)   {}
func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
