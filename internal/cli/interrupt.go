package cli

import (
	"context"
	"sync"
	"time"
)

// patience is how long a command that was interrupted may take to end by itself. Searches and simulations take a fifth
// of it at most; what cannot be interrupted (a figure being drawn, a large file being read, compressed or printed) is
// not waited for.
const patience = 400 * time.Millisecond

// leftovers removes what a command has begun to write, should the process end without it. Its zero value is ready.
type leftovers struct {
	mu       sync.Mutex
	remove   []func()
	finished string // what is said of what was finished before
	waits    bool   // the command ends by itself, however long it takes
}

// onAbandon has remove called where the command is not waited for. It may run beside the command.
func (l *leftovers) onAbandon(remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove = append(l.remove, remove)
}

// kept says what stays of a command that is not waited for.
func (l *leftovers) kept(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = what
}

// mainWithin is main, but returns some time after ctx has ended even where main does not.
func (c *command) mainWithin(ctx context.Context, args []string) int {
	done := make(chan int, 1)
	go func() { done <- c.main(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case code := <-done:
		return code
	case <-patient.C:
	}
	l := &c.left
	l.mu.Lock()
	waits := l.waits
	l.mu.Unlock()
	if waits {
		return <-done
	}
	return c.abandon(done)
}

// abandon ends a command that is still at work.
func (c *command) abandon(done <-chan int) int {
	l := &c.left
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, remove := range l.remove {
		remove()
	}
	select {
	case code := <-done: // it has made it after all
		return code
	default:
	}
	what := l.finished
	if what == "" {
		what = nothingWritten
	}
	c.say("interrupted; %s", what)
	return exitInterrupted
}

// nothingWritten is said where an interrupted command leaves nothing.
const nothingWritten = "nothing of the unfinished run was written, run the same command to start again"
