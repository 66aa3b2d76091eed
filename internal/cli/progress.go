package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"sim/internal/text"
)

const (
	// progressAfter is how long work takes before its progress is shown.
	progressAfter = 500 * time.Millisecond
	// progressEvery is the time between lines where no terminal is watched.
	progressEvery = 10 * time.Second
)

// state is how far work has come.
type state struct {
	words       string // beside a bar
	line        string // where no terminal is watched
	made, total int
}

// meter shows how far work has come: as a bar on a terminal, else as a line now and then.
type meter struct {
	c     *command
	begun time.Time
	quit  chan struct{}
	done  sync.WaitGroup

	mu  sync.Mutex
	now func() state // asked for under mu
}

// startMeter begins to show what state returns. What state reads is to be changed by set.
func (c *command) startMeter(now func(spent float64) state) *meter {
	m := &meter{c: c, begun: c.now(), quit: make(chan struct{})}
	m.now = func() state {
		m.mu.Lock()
		defer m.mu.Unlock()
		return now(c.now().Sub(m.begun).Seconds())
	}
	show := m.lines
	if c.terminal(c.stderr) {
		show = m.bar
	}
	m.done.Go(show)
	return m
}

// set changes what the state is made of.
func (m *meter) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// stop takes the display away.
func (m *meter) stop() {
	close(m.quit)
	m.done.Wait()
}

// startRun begins to show the progress of the run of a scenario, which update notes.
func (c *command) startRun(name string) (m *meter, update func(policy string, done, total int)) {
	at := state{words: name, line: name}
	m = c.startMeter(func(spent float64) state {
		s := at
		s.line = fmt.Sprintf("%s after %.0f s", at.line, spent)
		return s
	})
	return m, func(policy string, done, total int) {
		m.set(func() {
			at = state{words: name, made: done, total: total}
			if policy != "" {
				at.words += ": " + policy
			}
			if at.line = at.words; total > 0 {
				at.line += fmt.Sprintf(", step %d of %d,", done, total)
			}
		})
	}
}

// startSweep begins to show the progress of a sweep, which update notes: how far it has come, how fast, and how long it
// will take, as in "34 of 96 cells, 2.1 a second, 29 s to go".
func (c *command) startSweep(name string) (m *meter, update func(done, total, failed int)) {
	first, made, total, failed := -1, 0, 0, 0 // first is what was there at the start
	m = c.startMeter(func(spent float64) state {
		words := fmt.Sprintf("%s: %s of %s cells", name, text.Count(made+failed), text.Count(total))
		if failed > 0 {
			words += fmt.Sprintf(" (%d failed)", failed)
		}
		if n := made + failed - first; first >= 0 && n > 0 && spent > 0 {
			rate := float64(n) / spent
			left := time.Duration(float64(total-made-failed) / rate * float64(time.Second))
			words += fmt.Sprintf(", %.3g a second, %s to go", rate, left.Round(time.Second))
		}
		return state{words, words, made + failed, total}
	})
	return m, func(done, all, bad int) {
		m.set(func() {
			if first < 0 {
				first = done
			}
			made, total, failed = done, all, bad
		})
	}
}

// lines prints a line every so often.
func (m *meter) lines() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-tick.C:
			m.c.say("%s", m.now().line)
		}
	}
}

// bar draws a bar once the work has lasted a moment.
func (m *meter) bar() {
	select {
	case <-m.quit:
		return
	case <-time.After(progressAfter):
	}
	pw := progress.NewWriter()
	out := &counter{w: m.c.stderr}
	pw.SetOutputWriter(out)
	pw.SetUpdateFrequency(100 * time.Millisecond)
	style := progress.StyleDefault
	if m.c.colours(m.c.stderr) {
		style = progress.StyleBlocks
		style.Colors.Tracker = pretty.Colors{pretty.FgCyan}
	}
	style.Options.PercentFormat = "%3.0f%%"
	style.Options.TimeInProgressPrecision = time.Second
	style.Visibility.Value, style.Visibility.Speed = false, false
	pw.SetStyle(style)
	pw.SetTrackerLength(24)
	tracker := &progress.Tracker{Message: m.now().words}
	pw.AppendTracker(tracker)
	rendered := make(chan struct{})
	go func() { pw.Render(); close(rendered) }()
	for !pw.IsRenderInProgress() { // Stop before that would do nothing
		time.Sleep(time.Millisecond)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s := m.now()
		tracker.UpdateTotal(int64(max(s.total, 1)))
		tracker.SetValue(int64(min(s.made, max(s.total-1, 0)))) // the last step ends with the work
		tracker.UpdateMessage(fmt.Sprintf("%-44s", s.words))
		select {
		case <-m.quit:
			pw.Stop()
			<-rendered
			if out.n > 0 { // the bar's line
				fmt.Fprint(m.c.stderr, pretty.CursorUp.Sprint(), pretty.EraseLine.Sprint())
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
