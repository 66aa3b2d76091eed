package cli

import (
	"context"
	"sync"
	"time"
)

// gracePeriod is how long a command that was interrupted may take to end by itself. Searches and simulations take a fifth
// of it at most; what cannot be interrupted (a figure being drawn, a large file being read, compressed or printed) is
// not waited for.
const gracePeriod = 400 * time.Millisecond

// cleanupList removes what a command has begun to write, should the process end without it. Its zero value is ready.
type cleanupList struct {
	mu         sync.Mutex
	remove     []func()
	keptNote   string // what is said of what was finished before
	waitForEnd bool   // the command ends by itself, however long it takes
}

// onAbandon has remove called where the command is not waited for. It may run beside the command.
func (l *cleanupList) onAbandon(remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove = append(l.remove, remove)
}

// setKeptNote says what stays of a command that is not waited for.
func (l *cleanupList) setKeptNote(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keptNote = what
}

// mainUntilCancelled is main, but returns some time after ctx has ended even where main does not.
func (c *command) mainUntilCancelled(ctx context.Context, args []string) int {
	done := make(chan int, 1)
	go func() { done <- c.main(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	patient := time.NewTimer(gracePeriod)
	defer patient.Stop()
	select {
	case code := <-done:
		return code
	case <-patient.C:
	}
	l := &c.cleanup
	l.mu.Lock()
	waits := l.waitForEnd
	l.mu.Unlock()
	if waits {
		return <-done
	}
	return c.abandon(done)
}

// abandon ends a command that is still at work.
func (c *command) abandon(done <-chan int) int {
	l := &c.cleanup
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
	what := l.keptNote
	if what == "" {
		what = nothingWrittenNote
	}
	c.logf("interrupted; %s", what)
	return exitInterrupted
}

// nothingWrittenNote is said where an interrupted command leaves nothing.
const nothingWrittenNote = "nothing of the unfinished run was written, run the same command to start again"
