package queue

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

// Server is a NATS server with JetStream in this process.
type Server struct {
	s     *server.Server
	url   string
	token string
	dir   string
	temp  bool
	stop  func() error
}

// EmbeddedOptions say how a server in this process is run.
type EmbeddedOptions struct {
	// Listen is the address for other processes, such as ":4222" or "127.0.0.1:0", with "TOKEN@" before it to ask them
	// for a token; "": none.
	Listen string
	Token  string // what they are asked for where Listen has no token; "": nothing
	// Dir is the directory of the store, which is kept; "": a temporary one.
	Dir string
	Log func(format string, args ...any) // of the server's errors; may be nil
}

// maxPayload is the largest item that an embedded server takes, in bytes; other servers take 1 MiB unless their
// configuration says otherwise.
const maxPayload = 8 << 20

// Embedded starts a server.
func Embedded(o EmbeddedOptions) (*Server, error) {
	host, port, token, err := parseListen(o.Listen)
	if err != nil {
		return nil, err
	}
	token = set(token, o.Token)
	e := &Server{dir: o.Dir, token: token}
	if e.dir == "" {
		if e.dir, err = os.MkdirTemp("", "sim-queue-"); err != nil {
			return nil, fmt.Errorf("queue: no place for the embedded server's store: %w", err)
		}
		e.temp = true
	} else if err := os.MkdirAll(e.dir, 0o777); err != nil {
		return nil, fmt.Errorf("queue: no place for the embedded server's store: %w", err)
	}
	e.stop = sync.OnceValue(e.close)
	log := &serverLog{log: serial(o.Log)}
	e.s, err = server.NewServer(&server.Options{
		ServerName: "sim", DontListen: o.Listen == "", Host: host, Port: port, Authorization: token,
		JetStream: true, StoreDir: e.dir, MaxPayload: maxPayload, NoSigs: true, NoLog: true,
		JetStreamMaxMemory: -1, JetStreamMaxStore: -1, // what the machine has
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("queue: the embedded server cannot be set up: %w", err), e.stop())
	}
	e.s.SetLoggerV2(log, false, false, false)
	e.s.Start()
	for begun := time.Now(); !e.s.ReadyForConnections(20 * time.Millisecond); {
		if why := log.fatal(); why != "" || time.Since(begun) > 10*time.Second || !e.s.Running() {
			return nil, errors.Join(fmt.Errorf("queue: the embedded server does not start: %s", set(why, "it is not ready after 10 s")), e.stop())
		}
	}
	if a, ok := e.s.Addr().(*net.TCPAddr); ok && o.Listen != "" {
		if host == "" || a.IP.IsUnspecified() && host == server.DEFAULT_HOST {
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

// URL is where the server listens, token included; "" if it does not.
func (e *Server) URL() string { return e.url }

// port is where the server listens.
func (e *Server) port() int {
	if a, ok := e.s.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// Close stops the server and removes its store if that is temporary.
func (e *Server) Close() error { return e.stop() }

func (e *Server) close() error {
	if e.s != nil {
		e.s.Shutdown()
		e.s.WaitForShutdown()
	}
	if !e.temp {
		return nil
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("queue: the embedded server's store remains: %w", err)
	}
	return nil
}

// serverLog passes on a server's errors and keeps what ends it.
type serverLog struct {
	log func(string, ...any)
	mu  sync.Mutex
	end string
}

func (l *serverLog) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == "" {
		l.end = fmt.Sprintf(format, args...)
	}
}

func (l *serverLog) Errorf(format string, args ...any) {
	l.log("the embedded server: "+format, args...)
}

func (l *serverLog) Warnf(string, ...any)   {}
func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
