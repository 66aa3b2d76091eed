package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"
)

// sweeping shows how far a sweep has come, how fast, and how long it will take:
// as a bar on a terminal, else as a line now and then.
type sweeping struct {
	c    *command
	name string
	quit chan struct{}
	done sync.WaitGroup

	mu                  sync.Mutex
	first, made, failed int // first is what was there at the start, -1 before it
	total               int
	begun               time.Time
}

// startSweepProgress begins to show the progress of a sweep.
func (c *command) startSweepProgress(name string) *sweeping {
	p := &sweeping{c: c, name: name, quit: make(chan struct{}), first: -1, begun: c.now()}
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

// update notes how far the sweep has come.
func (p *sweeping) update(done, total, failed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first < 0 {
		p.first = done
	}
	p.made, p.total, p.failed = done, total, failed
}

func (p *sweeping) stop() {
	close(p.quit)
	p.done.Wait()
}

// line words the state: "34 of 96 cells, 2.1 a second, 29 s to go".
func (p *sweeping) line() (words string, made, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	words = fmt.Sprintf("%s of %s cells", count(float64(p.made+p.failed)), count(float64(p.total)))
	if p.failed > 0 {
		words += fmt.Sprintf(" (%d failed)", p.failed)
	}
	spent := p.c.now().Sub(p.begun).Seconds()
	if n := p.made + p.failed - p.first; p.first >= 0 && n > 0 && spent > 0 {
		rate := float64(n) / spent
		left := time.Duration(float64(p.total-p.made-p.failed) / rate * float64(time.Second))
		words += fmt.Sprintf(", %.3g a second, %s to go", rate, left.Round(time.Second))
	}
	return words, p.made + p.failed, p.total
}

func (p *sweeping) lines() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			words, _, _ := p.line()
			p.c.say("%s: %s", p.name, words)
		}
	}
}

// bar draws a bar once the sweep has lasted a moment.
func (p *sweeping) bar() {
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
	pw.SetTrackerLength(24)
	tracker := &progress.Tracker{Message: p.name}
	pw.AppendTracker(tracker)
	rendered := make(chan struct{})
	go func() { pw.Render(); close(rendered) }()
	for !pw.IsRenderInProgress() { // Stop before that would do nothing
		time.Sleep(time.Millisecond)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		words, made, total := p.line()
		tracker.UpdateTotal(int64(max(total, 1)))
		tracker.SetValue(int64(min(made, max(total-1, 0)))) // the last step ends with the sweep
		tracker.UpdateMessage(p.name + ": " + words)
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
