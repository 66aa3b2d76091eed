package study

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sim/internal/infile"
	"sim/scenarios/result"
)

// leases are the files by which the workers of a joined sweep say who computes what, in a directory that all of them see.
// What is leased has a name, and its leases are NAME.0, NAME.1 ...: each is made once, by the worker that it belongs to,
// and the last one counts. Making a file that must not be there is atomic on NFS and Lustre as on a disk. So nothing is
// renamed, and no lease is taken from one who just got it.
//
// Whoever has a lease writes into it again and again. It is over, and the next may be made, when another worker has seen it
// unchanged for as long as it says of itself, by that worker's own clock: clocks of different machines are not compared.
type leases struct {
	dir, owner string
	term       time.Duration
	stop       chan struct{}
	stopped    sync.WaitGroup

	mu     sync.Mutex
	held   map[string]*lease
	seen   map[string]*sight
	failed map[string]int // of what had failed before this worker began: generations, which it may follow
}

// lease is one that is ours.
type lease struct {
	generation, renewed int
	lost                func() // called when another worker has taken it over
}

// sight is what was seen last of a lease that is another's.
type sight struct {
	generation int
	text       string
	since      time.Time // it is seen so
	looked     time.Time
}

// maxLease bounds what is read of a lease, in bytes: the reason of a failure may be a few lines.
const maxLease = 64 << 10

// note is what stands in a lease.
type note struct {
	Owner   string `json:"owner"`
	TermMS  int64  `json:"term_ms"`
	Renewed int    `json:"renewed"`
	Free    bool   `json:"free,omitempty"` // its owner gave it back
	// Failed says why what it is for cannot be computed, and Input that this is a fault of the input.
	Failed string `json:"failed,omitempty"`
	Input  bool   `json:"input,omitempty"`
}

// leasesPrefix begins the name of the directory of leases in a sweep's.
const leasesPrefix = "leases-"

// leaseDir is the name of the directory of leases of a plan: workers of another plan, or of another version of sim, have
// another.
func leaseDir(p *Plan) string {
	return fmt.Sprintf("%s%.10s-%s-model%d", leasesPrefix, p.Sweep.Digest, p.Sweep.Version, p.Sweep.Model)
}

// newOwner names this process: its machine, for people, and 64 random bits.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	host = strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, host)
	var token [8]byte
	rand.Read(token[:]) // never fails
	return fmt.Sprintf("%.40s-%s", host, hex.EncodeToString(token[:]))
}

// openLeases makes the directory of a plan's leases in dir. Where workers of another plan have one there it fails with a
// *result.PlaceError. Of two who come at the same time one at least sees the other, since each makes its own first.
func openLeases(dir string, p *Plan, term time.Duration) (*leases, error) {
	l := &leases{
		dir: filepath.Join(dir, leaseDir(p)), owner: newOwner(), term: term, stop: make(chan struct{}),
		held: map[string]*lease{}, seen: map[string]*sight{}, failed: map[string]int{},
	}
	if err := os.MkdirAll(l.dir, 0o777); err != nil {
		return nil, result.Unwritable(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, result.Unreadable(dir, err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), leasesPrefix) && e.Name() != filepath.Base(l.dir) {
			os.Remove(l.dir) // unless others are in it
			return nil, &result.PlaceError{Path: dir, Why: fmt.Sprintf(
				"workers of another sweep or another version of sim have joined there (%s); use one scenario and one build of sim everywhere, or choose another directory with --out",
				e.Name())}
		}
	}
	l.stopped.Go(l.renew)
	return l, nil
}

// renew writes into all leases that are held, so often that four writes may fail.
func (l *leases) renew() {
	tick := time.NewTicker(l.term / 5)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		for name, own := range l.held {
			own.renewed++
			if err := l.write(name, own.generation, note{Renewed: own.renewed}); isGone(err) || l.exists(name, own.generation+1) {
				delete(l.held, name)
				own.lost()
			} // else the next write may do
		}
		l.mu.Unlock()
	}
}

// close gives back what is held.
func (l *leases) close() {
	close(l.stop)
	l.stopped.Wait()
	for name := range l.held {
		l.settle(name, note{Free: true})
	}
}

// remove removes all leases: what they were for is done. What cannot be removed the next worker finds done.
func (l *leases) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.held)
	for range 5 { // on NFS what others are reading stays a little longer
		if os.RemoveAll(l.dir) == nil {
			return
		}
		time.Sleep(l.poll() / 5)
	}
}

// poll is how long to wait before a lease of another worker is looked at again.
func (l *leases) poll() time.Duration { return min(l.term/10, 2*time.Second) }

func (l *leases) path(name string, generation int) string {
	return filepath.Join(l.dir, name+"."+strconv.Itoa(generation))
}

func (l *leases) exists(name string, generation int) bool {
	_, err := os.Lstat(l.path(name, generation))
	return err == nil
}

// write puts a note into a lease that is there.
func (l *leases) write(name string, generation int, n note) error {
	n.Owner, n.TermMS = l.owner, l.term.Milliseconds()
	f, err := os.OpenFile(l.path(name, generation), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if err = json.NewEncoder(f).Encode(n); err == nil {
		err = f.Sync() // other machines see it
	}
	return errors.Join(err, f.Close())
}

// settle writes the last note of a lease that is held: it is not renewed any more.
func (l *leases) settle(name string, n note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.held[name]; own != nil {
		n.Renewed = own.renewed + 1
		_ = l.write(name, own.generation, n) // unwritten it runs out
		delete(l.held, name)
	}
}

// errGone is returned where the leases are no longer there: the sweep is finished.
var errGone = errors.New("the leases are gone")

// isGone reports whether a file is not there, or was removed on another machine.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) }

// begin notes whether what name stands for failed before this worker began: then it tries again.
func (l *leases) begin(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &sight{since: time.Now()}
	if _, n, err := l.look(name, s); err == nil {
		l.seen[name] = s
		if n.Failed != "" {
			l.failed[name] = s.generation
		}
	}
}

// take makes the lease of name ours if nobody has it; lost is called when it is taken over, from another goroutine. Else
// it returns what its owner noted.
func (l *leases) take(name string, lost func()) (ours bool, other note, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[name]
	next := 0
	if s != nil {
		if time.Since(s.looked) < l.poll() {
			return false, note{}, nil
		}
		if next, other, err = l.look(name, s); err != nil || next == s.generation {
			return false, other, err
		}
	}
	f, err := os.OpenFile(l.path(name, next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist): // what is in it is looked at the next time
		if s == nil || s.generation != next {
			l.seen[name] = &sight{generation: next, since: time.Now()}
		}
		return false, note{}, nil
	case isGone(err):
		return false, note{}, errGone
	case err != nil:
		return false, note{}, result.Unwritable(l.dir, err)
	}
	if err := f.Close(); err != nil {
		return false, note{}, result.Unwritable(l.dir, err)
	}
	delete(l.seen, name)
	l.held[name] = &lease{generation: next, lost: lost}
	_ = l.write(name, next, note{}) // so does the next that is due
	return true, note{}, nil
}

// look reads a lease of another worker. It returns the generation to make: the one that is there, where that is not over.
func (l *leases) look(name string, s *sight) (next int, n note, err error) {
	s.looked = time.Now()
	for l.exists(name, s.generation+1) {
		s.generation, s.text, s.since = s.generation+1, "", time.Now()
	}
	data, err := infile.Read(l.path(name, s.generation), maxLease)
	if isGone(err) {
		return 0, n, errGone
	}
	if err != nil {
		return 0, n, result.Unreadable(l.dir, err)
	}
	if text := string(data); text != s.text {
		s.text, s.since = text, time.Now()
	}
	term := l.term
	if json.Unmarshal(data, &n) != nil { // it is being written, or its owner was killed while it wrote
		n = note{}
	} else if n.TermMS > 0 {
		term = time.Duration(n.TermMS) * time.Millisecond
	}
	before, known := l.failed[name]
	if n.Free || n.Failed != "" && known && before == s.generation || n.Failed == "" && time.Since(s.since) > term {
		return s.generation + 1, n, nil
	}
	return s.generation, n, nil
}
