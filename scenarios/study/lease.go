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

// leaseDirectory are the files by which the workers of a joined sweep say who computes what, in a directory that all of them see.
// What is leased has a name, and its leases are NAME.0, NAME.1 ...: each is made once, by the worker that it belongs to,
// and the last one counts. Making a file that must not be there is atomic on NFS and Lustre as on a disk. So nothing is
// renamed, and no lease is taken from one who just got it.
//
// Whoever has a lease writes into it again and again. It is over, and the next may be made, when another worker has seen it
// unchanged for as long as it says of itself, by that worker's own clock: clocks of different machines are not compared.
type leaseDirectory struct {
	dir, owner string
	term       time.Duration
	stop       chan struct{}
	stopped    sync.WaitGroup

	mu           sync.Mutex
	owned        map[string]*heldLease
	seen         map[string]*leaseObservation
	failedBefore map[string]int // of what had failed before this worker began: generations, which it may follow
}

// heldLease is one that is ours.
type heldLease struct {
	generation, renewed int
	lost                func() // called when another worker has taken it over
}

// leaseObservation is what was seen last of a lease that is another's.
type leaseObservation struct {
	generation     int
	text           string
	unchangedSince time.Time // it is seen so
	lastRead       time.Time
}

// maxLeaseBytes bounds what is read of a lease, in bytes: the reason of a failure may be a few lines.
const maxLeaseBytes = 64 << 10

// leaseNote is what stands in a lease.
type leaseNote struct {
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

// leaseDirName is the name of the directory of leases of a plan: workers of another plan, or of another version of sim, have
// another.
func leaseDirName(p *Plan) string {
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
func openLeases(dir string, p *Plan, term time.Duration) (*leaseDirectory, error) {
	l := &leaseDirectory{
		dir: filepath.Join(dir, leaseDirName(p)), owner: newOwner(), term: term, stop: make(chan struct{}),
		owned: map[string]*heldLease{}, seen: map[string]*leaseObservation{}, failedBefore: map[string]int{},
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
	l.stopped.Go(l.renewLoop)
	return l, nil
}

// renewLoop writes into all leases that are held, so often that four writes may fail.
func (l *leaseDirectory) renewLoop() {
	tick := time.NewTicker(l.term / 5)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		for name, held := range l.owned {
			held.renewed++
			if err := l.write(name, held.generation, leaseNote{Renewed: held.renewed}); isRemoved(err) || l.exists(name, held.generation+1) {
				delete(l.owned, name)
				held.lost()
			} // else the next write may do
		}
		l.mu.Unlock()
	}
}

// close gives back what is held.
func (l *leaseDirectory) close() {
	close(l.stop)
	l.stopped.Wait()
	for name := range l.owned {
		l.endLease(name, leaseNote{Free: true})
	}
}

// remove removes all leases: what they were for is done. What cannot be removed the next worker finds done.
func (l *leaseDirectory) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.owned)
	for range 5 { // on NFS what others are reading stays a little longer
		if os.RemoveAll(l.dir) == nil {
			return
		}
		time.Sleep(l.pollInterval() / 5)
	}
}

// pollInterval is how long to wait before a lease of another worker is looked at again.
func (l *leaseDirectory) pollInterval() time.Duration { return min(l.term/10, 2*time.Second) }

func (l *leaseDirectory) path(name string, generation int) string {
	return filepath.Join(l.dir, name+"."+strconv.Itoa(generation))
}

func (l *leaseDirectory) exists(name string, generation int) bool {
	_, err := os.Lstat(l.path(name, generation))
	return err == nil
}

// write puts a note into a lease that is there.
func (l *leaseDirectory) write(name string, generation int, n leaseNote) error {
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

// endLease writes the last note of a lease that is held: it is not renewed any more.
func (l *leaseDirectory) endLease(name string, n leaseNote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.owned[name]; held != nil {
		n.Renewed = held.renewed + 1
		_ = l.write(name, held.generation, n) // unwritten it runs out
		delete(l.owned, name)
	}
}

// errLeasesRemoved is returned where the leases are no longer there: the sweep is finished.
var errLeasesRemoved = errors.New("the leases are gone")

// isRemoved reports whether a file is not there, or was removed on another machine.
func isRemoved(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE)
}

// observe notes whether what name stands for failed before this worker began: then it tries again.
func (l *leaseDirectory) observe(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &leaseObservation{unchangedSince: time.Now()}
	if _, n, err := l.inspect(name, s); err == nil {
		l.seen[name] = s
		if n.Failed != "" {
			l.failedBefore[name] = s.generation
		}
	}
}

// acquire makes the lease of name ours if nobody has it; lost is called when it is taken over, from another goroutine. Else
// it returns what its owner noted.
func (l *leaseDirectory) acquire(name string, lost func()) (ours bool, other leaseNote, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[name]
	next := 0
	if s != nil {
		if time.Since(s.lastRead) < l.pollInterval() {
			return false, leaseNote{}, nil
		}
		if next, other, err = l.inspect(name, s); err != nil || next == s.generation {
			return false, other, err
		}
	}
	f, err := os.OpenFile(l.path(name, next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist): // what is in it is looked at the next time
		if s == nil || s.generation != next {
			l.seen[name] = &leaseObservation{generation: next, unchangedSince: time.Now()}
		}
		return false, leaseNote{}, nil
	case isRemoved(err):
		return false, leaseNote{}, errLeasesRemoved
	case err != nil:
		return false, leaseNote{}, result.Unwritable(l.dir, err)
	}
	if err := f.Close(); err != nil {
		return false, leaseNote{}, result.Unwritable(l.dir, err)
	}
	delete(l.seen, name)
	l.owned[name] = &heldLease{generation: next, lost: lost}
	_ = l.write(name, next, leaseNote{}) // so does the next that is due
	return true, leaseNote{}, nil
}

// inspect reads a lease of another worker. It returns the generation to make: the one that is there, where that is not over.
func (l *leaseDirectory) inspect(name string, s *leaseObservation) (next int, n leaseNote, err error) {
	s.lastRead = time.Now()
	for l.exists(name, s.generation+1) {
		s.generation, s.text, s.unchangedSince = s.generation+1, "", time.Now()
	}
	data, err := infile.Read(l.path(name, s.generation), maxLeaseBytes)
	if isRemoved(err) {
		return 0, n, errLeasesRemoved
	}
	if err != nil {
		return 0, n, result.Unreadable(l.dir, err)
	}
	if text := string(data); text != s.text {
		s.text, s.unchangedSince = text, time.Now()
	}
	term := l.term
	if json.Unmarshal(data, &n) != nil { // it is being written, or its owner was killed while it wrote
		n = leaseNote{}
	} else if n.TermMS > 0 {
		term = time.Duration(n.TermMS) * time.Millisecond
	}
	before, known := l.failedBefore[name]
	if n.Free || n.Failed != "" && known && before == s.generation || n.Failed == "" && time.Since(s.unchangedSince) > term {
		return s.generation + 1, n, nil
	}
	return s.generation, n, nil
}
