// This file ends a command soon after an interrupt, even if it does not stop by
// itself.

package cli

import (
	"context"
	"sync"
	"time"
)

// gracePeriod is the time in which an interrupted command should end by itself. Searches and
// simulations stop within a fifth of it. Work that cannot be interrupted is abandoned: drawing
// a figure, or reading, compressing or printing a large file. A run with finished rows is not
// abandoned.
const gracePeriod = 400 * time.Millisecond

// cleanupList removes the unfinished files of a command if the process ends before the command
// does. Its zero value is ready to use.
type cleanupList struct {
	mu sync.Mutex
	// remove has the functions that are called if the command is abandoned.
	remove []func()
	// resultNote is the message about results that were finished before.
	resultNote string
	// waitForEnd reports whether the process waits until the command ends, however long it
	// takes.
	waitForEnd bool
}

// onAbandon registers a function that is called if the command is abandoned. It may run
// concurrently with the command.
func (l *cleanupList) onAbandon(remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove = append(l.remove, remove)
}

// setResultNote sets the message about stored results that an abandoned command prints.
func (l *cleanupList) setResultNote(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resultNote = what
}

// mainUntilCancelled calls main with args, but returns about gracePeriod after ctx was cancelled
// even if main does not. It waits longer if the command requires it (requireWait).
func (c *command) mainUntilCancelled(ctx context.Context, args []string) int {
	// The channel has a buffer, so that an abandoned command can still end.
	done := make(chan int, 1)
	go func() { done <- c.main(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	// Give the command time to end by itself.
	patient := time.NewTimer(gracePeriod)
	defer patient.Stop()
	select {
	case code := <-done:
		return code
	case <-patient.C:
	}
	// Abandon the command, unless it must end properly.
	l := &c.cleanup
	l.mu.Lock()
	waits := l.waitForEnd
	l.mu.Unlock()
	if waits {
		return <-done
	}
	return c.abandon(done)
}

// abandon ends the process while the command is still running: it removes unfinished files and
// prints a message. done receives the exit code if the command ends in the meantime.
func (c *command) abandon(done <-chan int) int {
	l := &c.cleanup
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, remove := range l.remove {
		remove()
	}
	select {
	case code := <-done:
		// The command ended in the meantime.
		return code
	default:
	}
	// State which results are stored.
	what := l.resultNote
	if what == "" {
		what = nothingWrittenNote
	}
	c.logf("interrupted; %s", what)
	return exitInterrupted
}

// nothingWrittenNote is printed if an interrupted command stores nothing.
const nothingWrittenNote = "nothing of the unfinished run was written, run the same command to start again"
