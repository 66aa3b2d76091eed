package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	// progressAfter is how long a run takes before its progress is shown.
	progressAfter = 500 * time.Millisecond
	// progressEvery is the time between lines where no terminal is watched.
	progressEvery = 10 * time.Second
)

// running shows how far a run has come: as a bar on a terminal, else as a line
// now and then.
type running struct {
	c    *command
	name string
	quit chan struct{}
	done sync.WaitGroup

	mu          sync.Mutex // of what update and the shower share
	policy      string
	made, total int
}

// startProgress begins to show the progress of the run of a scenario.
func (c *command) startProgress(name string) *running {
	p := &running{c: c, name: name, quit: make(chan struct{})}
	show := p.lines
	if c.terminal(c.stderr) {
		show = p.bar
	}
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		show()
	}()
	return p
}

// update notes how far the run has come.
func (p *running) update(policy string, done, total int) {
	p.mu.Lock()
	p.policy, p.made, p.total = policy, done, total
	p.mu.Unlock()
}

func (p *running) state() (policy string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.policy, p.made, p.total
}

// stop takes the display away.
func (p *running) stop() {
	close(p.quit)
	p.done.Wait()
}

// lines prints a line every so often.
func (p *running) lines() {
	begun := p.c.now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.c.say("%s after %.0f s", p.line(), p.c.now().Sub(begun).Seconds())
		}
	}
}

func (p *running) line() string {
	policy, done, total := p.state()
	s := p.name
	if policy != "" {
		s += ": " + policy
	}
	if total > 0 {
		s += fmt.Sprintf(", step %d of %d,", done, total)
	}
	return s
}

// bar draws a bar once the run has lasted a moment.
func (p *running) bar() {
	select {
	case <-p.quit:
		return
	case <-time.After(progressAfter):
	}
	pw := progress.NewWriter()
	out := &counter{w: p.c.stderr}
	pw.SetOutputWriter(out)
	pw.SetUpdateFrequency(100 * time.Millisecond)
	style := progress.StyleDefault
	if p.c.colours(p.c.stderr) {
		style = progress.StyleBlocks
		style.Colors.Tracker = text.Colors{text.FgCyan}
	}
	style.Options.PercentFormat = "%3.0f%%"
	style.Options.TimeInProgressPrecision = time.Second
	style.Visibility.Value, style.Visibility.Speed = false, false
	pw.SetStyle(style)
	pw.SetMessageLength(44)
	pw.SetTrackerLength(24)
	tracker := &progress.Tracker{Message: p.line()}
	pw.AppendTracker(tracker)
	rendered := make(chan struct{})
	go func() { pw.Render(); close(rendered) }()
	for !pw.IsRenderInProgress() { // Stop before that would do nothing
		time.Sleep(time.Millisecond)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		policy, done, total := p.state()
		tracker.UpdateTotal(int64(total))
		tracker.SetValue(int64(min(done, max(total-1, 0)))) // the last step ends with the run
		if policy != "" {
			tracker.UpdateMessage(p.name + ": " + policy)
		}
		select {
		case <-p.quit:
			pw.Stop()
			<-rendered
			if out.n > 0 { // the bar's line
				fmt.Fprint(p.c.stderr, text.CursorUp.Sprint(), text.EraseLine.Sprint())
			}
			return
		case <-tick.C:
		}
	}
}

// counter counts what is written through it.
type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.w.Write(p)
}
