// This file assigns cells to workers by lease files, for the runner in join.go.

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

// leaseDirectory assigns the cells of a sweep to the workers that share its directory.
// The leases of a name are the files NAME.0, NAME.1 and so on. Each file is created once,
// by its owner, and the last one is valid. Exclusive creation of a file is atomic on NFS
// and Lustre as on a local disk. No file is renamed, so a lease cannot be taken from a
// worker that has just acquired it.
//
// The owner writes to its lease periodically. A lease expires if another worker has seen
// it unchanged for the term stated in it. Expiry is measured with that worker's own
// clock, so clocks of machines are never compared. (See Gray and Cheriton, "Leases", SOSP
// 1989.)
type leaseDirectory struct {
	dir     string // path of the lease directory
	owner   string // name of this worker, unique among all workers
	term    time.Duration
	stop    chan struct{} // closed by close
	stopped sync.WaitGroup

	mu    sync.Mutex
	owned map[string]*heldLease        // leases of this worker, keyed by name
	seen  map[string]*leaseObservation // last observations of leases of other workers
	// failedBefore has the generations of leases that had failed before this worker began. It
	// may retry these.
	failedBefore map[string]int
}

// heldLease is a lease held by this worker.
type heldLease struct {
	// generation is the number in the file name; renewed counts the renewals.
	generation, renewed int
	lost                func() // called after another worker has taken over
}

// leaseObservation is the last observed state of another worker's lease.
type leaseObservation struct {
	generation int
	// text is the content of the file.
	text           string
	unchangedSince time.Time // time since which the content is unchanged
	lastRead       time.Time // time of the last read
}

// maxLeaseBytes is the maximum size of a lease file; the reason of a failure may have a
// few lines.
const maxLeaseBytes = 64 << 10

// leaseNote is the content of a lease file.
type leaseNote struct {
	Owner   string `json:"owner"`
	TermMS  int64  `json:"term_ms"`
	Renewed int    `json:"renewed"`
	Free    bool   `json:"free,omitempty"` // given back by its owner
	// Failed is the reason if the cell cannot be computed. Input reports that the input
	// is invalid.
	Failed string `json:"failed,omitempty"`
	Input  bool   `json:"input,omitempty"`
}

// leasesPrefix begins the name of the lease directory in the directory of a sweep.
const leasesPrefix = "leases-"

// leaseDirName returns the name of a plan's lease directory. It differs between plans and
// versions of sim.
func leaseDirName(p *Plan) string {
	return fmt.Sprintf("%s%.10s-%s-model%d", leasesPrefix, p.Sweep.Digest, p.Sweep.Version, p.Sweep.Model)
}

// newOwner returns a name for this process: the host name, for people, and 64 random
// bits.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	// Keep the characters that are valid in file names on all systems.
	host = strings.Map(func(r rune) rune {
		lower := r | 0x20 // of a letter
		if r < 128 && (r == '-' || '0' <= r && r <= '9' || 'a' <= lower && lower <= 'z') {
			return r
		}
		return '-'
	}, host)
	var token [8]byte
	rand.Read(token[:]) // never fails
	return fmt.Sprintf("%.40s-%s", host, hex.EncodeToString(token[:]))
}

// openLeases creates the lease directory of a plan in dir. It fails with a
// *result.PlaceError if dir has leases of another plan. If two workers begin at the same
// time, at least one sees the other, because each creates its own directory before it
// looks.
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
			os.Remove(l.dir) // fails if other workers use it
			return nil, &result.PlaceError{Path: dir, Why: fmt.Sprintf(
				"workers of another sweep or another version of sim have joined there (%s); use one scenario and one build of sim everywhere, or choose another directory with --out",
				e.Name())}
		}
	}
	l.stopped.Go(l.renewLoop)
	return l, nil
}

// renewLoop renews all held leases five times per term, so up to four writes may fail.
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
			} // other errors: the next renewal may succeed
		}
		l.mu.Unlock()
	}
}

// close gives back the held leases.
func (l *leaseDirectory) close() {
	close(l.stop)
	l.stopped.Wait()
	for name := range l.owned {
		l.endLease(name, leaseNote{Free: true})
	}
}

// remove removes all leases of a finished sweep. Leases that cannot be removed are
// ignored by later workers, because the sweep is complete.
func (l *leaseDirectory) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.owned)

	// NFS keeps files that other workers are reading, so removal is tried again until they have
	// read them.
	const tries = 5
	for range tries {
		if os.RemoveAll(l.dir) == nil {
			return
		}
		time.Sleep(l.pollInterval() / tries)
	}
}

// pollInterval is the time between reads of another worker's lease. It is short compared with
// the term, so that expiry is noticed soon, but does not load the file system.
func (l *leaseDirectory) pollInterval() time.Duration { return min(l.term/10, 2*time.Second) }

// path returns the file of a lease.
func (l *leaseDirectory) path(name string, generation int) string {
	return filepath.Join(l.dir, name+"."+strconv.Itoa(generation))
}

// exists reports whether the file of a lease exists.
func (l *leaseDirectory) exists(name string, generation int) bool {
	_, err := os.Lstat(l.path(name, generation))
	return err == nil
}

// write overwrites an existing lease.
func (l *leaseDirectory) write(name string, generation int, n leaseNote) error {
	n.Owner, n.TermMS = l.owner, l.term.Milliseconds()
	f, err := os.OpenFile(l.path(name, generation), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if err = json.NewEncoder(f).Encode(n); err == nil {
		// Makes it visible to other machines.
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// endLease writes the last note of a held lease and stops renewing it.
func (l *leaseDirectory) endLease(name string, n leaseNote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.owned[name]; held != nil {
		n.Renewed = held.renewed + 1
		_ = l.write(name, held.generation, n) // if this fails, the lease expires
		delete(l.owned, name)
	}
}

// errLeasesRemoved reports that the leases were removed because the sweep is finished.
var errLeasesRemoved = errors.New("the leases are gone")

// isRemoved reports whether a file is missing, also if another machine removed it.
func isRemoved(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE)
}

// observe records whether the cells of a lease failed before this worker began. If so,
// this worker tries them again.
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

// acquire acquires the lease of name unless another worker holds it. lost is called, from
// another goroutine, if the lease is taken over. other is the content of the lease of the worker
// that holds it, or, if ours is true, that held it until it expired; otherwise it is empty.
func (l *leaseDirectory) acquire(name string, lost func()) (ours bool, other leaseNote, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Find the generation to create: 0 for an unknown lease, else the one after an expired
	// lease.
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
	// Create the file exclusively.
	f, err := os.OpenFile(l.path(name, next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		// Another worker was faster; its lease is read at the next call.
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

	// If this fails, the next renewal writes it.
	_ = l.write(name, next, leaseNote{})
	if other.Free || other.Failed != "" {
		other = leaseNote{} // it did not expire
	}
	return true, other, nil
}

// inspect reads a lease of another worker and updates its observation. It returns the
// generation that may be created next; if the lease is valid, that is the existing generation.
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
	// The owner states its term, which may differ from the term of this worker.
	term := l.term

	// The content is invalid while the owner writes it, or if the owner was killed during a
	// write.
	if json.Unmarshal(data, &n) != nil {
		n = leaseNote{}
	} else if n.TermMS > 0 {
		term = time.Duration(n.TermMS) * time.Millisecond
	}
	// The next generation may be created if the lease is free or expired, or if its cells failed
	// before this worker began.
	before, known := l.failedBefore[name]
	if n.Free || n.Failed != "" && known && before == s.generation || n.Failed == "" && time.Since(s.unchangedSince) > term {
		return s.generation + 1, n, nil
	}
	return s.generation, n, nil
}
