// This file shows the progress of runs and sweeps on standard error.

package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"sim/internal/text"
	"sim/scenarios/study"
)

// Times of the display.
const (
	// barDelay is the running time after which a progress bar appears; short work shows none.
	barDelay = 500 * time.Millisecond
	// firstLineDelay is the running time before the first progress line if stderr is not a
	// terminal, and lineInterval the time between further lines.
	firstLineDelay = time.Second
	lineInterval   = 10 * time.Second
	// barInterval is the time between updates of the bar.
	barInterval = 100 * time.Millisecond
)

// Widths in characters. Together with the percentage and the time, the bar and the text next to it
// fit into a terminal of wideColumns. Narrower terminals have the narrow bar, and cut the text.
const (
	barWidth, narrowBarWidth = 24, 12
	barMessageWidth          = 44
	wideColumns              = 100
)

// progressState describes the progress of a run or a sweep.
type progressState struct {
	message     string  // text next to the bar
	line        string  // text without a terminal
	done, total int     // steps
	part        float64 // completed share of the next step; 0 if it is unknown
}

// progressMeter shows the progress of work on stderr: as a bar on a terminal, otherwise as
// occasional lines.
type progressMeter struct {
	c     *command
	start time.Time     // when the work started
	quit  chan struct{} // closed by stop
	// display is the goroutine that shows the progress.
	display sync.WaitGroup

	mu      sync.Mutex           // protects the variables from which the state is computed, and print
	current func() progressState // returns the state; it locks mu
	print   func(line string)    // prints a line above the bar; nil without a bar
}

// startMeter shows the state that now returns until stop is called. The argument of now is the
// running time in seconds. now is called from another goroutine, so variables that it reads must
// be changed through update.
func (c *command) startMeter(now func(spent float64) progressState) *progressMeter {
	// The display runs in its own goroutine until stop is called.
	m := &progressMeter{c: c, start: c.now(), quit: make(chan struct{})}
	m.current = func() progressState {
		m.mu.Lock()
		defer m.mu.Unlock()
		return now(c.now().Sub(m.start).Seconds())
	}
	show := m.showLines
	if c.isTerminal(unwrapWriter(c.stderr)) {
		show = m.showBar
	}
	m.display.Go(show)
	return m
}

// update changes the variables from which the state is computed.
func (m *progressMeter) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// logf prints a line like command.logf, also while a bar is shown.
func (m *progressMeter) logf(format string, args ...any) {
	m.update(func() {
		if m.print == nil {
			m.c.logf(format, args...)
			return
		}
		m.print(text.Line(fmt.Sprintf(format, args...), maxMessageBytes))
	})
}

// stop ends the display and removes the bar.
func (m *progressMeter) stop() {
	close(m.quit)
	m.display.Wait()
}

// startRunProgress shows the progress of a run. update sets the policy whose row is computed and
// the number of rows done. share sets the completed share of its search or simulation, if it is
// known. A smaller share than before begins a further one. The line then predicts the remaining
// time: this search or simulation continues at constant speed, and each row that follows takes
// as long as the rows before on average.
func (c *command) startRunProgress(name string) (m *progressMeter, update func(policy string, done, total int), share func(float64)) {
	// The state changes with each policy; the line has the running time and the prediction.
	at := progressState{message: name, line: name}
	// part is the completed share of the search or simulation. rowBegan and partBegan are the running
	// times in seconds at the starts of the row and of the search. There is no prediction below
	// minPart, because it would vary by orders of magnitude.
	part, rowBegan, partBegan := 0.0, 0.0, 0.0
	const minPart = 0.01
	m = c.startMeter(func(spent float64) progressState {
		s := at
		if part >= minPart {
			togo := (spent - partBegan) * (1 - part) / part
			row := spent - rowBegan + togo // duration of this row
			if at.done > 0 {
				row = (rowBegan + row) / float64(at.done+1)
			}
			togo += row * float64(max(at.total-at.done-1, 0))
			words := text.Roughly(max(togo, 1))
			s.part = part
			s.message += fmt.Sprintf(" (%.0f %%, about %s to go)", 100*part, words)
			s.line += fmt.Sprintf(" %.0f %% of the next, about %s to go,", 100*part, words)
		}
		s.line += fmt.Sprintf(" after %.0f s", spent)
		return s
	})
	return m, func(policy string, done, total int) {
			m.update(func() {
				at = progressState{message: name, done: done, total: total}
				part, rowBegan = 0, c.now().Sub(m.start).Seconds()
				partBegan = rowBegan
				if policy != "" {
					at.message += ": " + policy
				}
				if at.line = at.message; total > 0 {
					at.line += fmt.Sprintf(", %d of %s done,", done, text.Plural(total, "row"))
				}
				if total > 1 {
					at.message += fmt.Sprintf(", %d of %d rows", done, total)
				}
			})
		}, func(share float64) {
			m.update(func() {
				if share < part { // a further search, such as one without faults
					partBegan = c.now().Sub(m.start).Seconds()
				}
				part = share
			})
		}
}

// startSweepProgress shows the progress of a sweep, as in "34 of 96 cells, 2.1 a second, about
// 29 s to go". update sets the numbers of finished, all and failed cells. left predicts the
// remaining work, which is divided by the number of workers; if it is nil, the prediction is
// proportional to the number of cells.
func (c *command) startSweepProgress(name string, workers int, left func() (*study.Forecast, error)) (m *progressMeter, update func(done, total, failed int)) {
	// first is the number of cells that were stored before, or -1 before the first update.
	first, finished, total, failed := -1, 0, 0, 0
	// guess is the predicted number of remaining seconds, or 0 before the first prediction.
	// guessedAt is the running time of the prediction, and words precedes it in the line.
	var guess, guessedAt float64
	var words string
	m = c.startMeter(func(spent float64) progressState {
		line := fmt.Sprintf("%s: %s of %s cells", name, text.Count(finished+failed), text.Count(total))
		if failed > 0 {
			line += fmt.Sprintf(" (%d failed)", failed)
		}
		message := line
		togo, how := guess-(spent-guessedAt), words
		if n := finished + failed - first; first >= 0 && n > 0 && spent > 0 {
			rate := float64(n) / spent
			line += fmt.Sprintf(", %.3g a second", rate)
			if left == nil {
				togo, how = float64(total-finished-failed)/rate, "about "
			}
		}
		prediction := ""
		switch {
		case how == "": // no prediction yet
		case togo < -1:
			prediction = fmt.Sprintf(", %s later than predicted", text.Roughly(-togo))
		default:
			prediction = fmt.Sprintf(", %s%s to go", how, text.Roughly(max(togo, 1)))
		}
		return progressState{message: message + prediction, line: line + prediction, done: finished + failed, total: total}
	})
	// look updates the forecast, which takes time itself.
	look := c.newThrottle(func() error {
		f, err := left()
		if err != nil {
			return err
		}
		m.update(func() {
			guess, guessedAt, words = f.Wall(workers), c.now().Sub(m.start).Seconds(), "about "

			// The longest cells are computed first.
			if f.Rough && first >= 0 && finished+failed > first {
				words = "up to "
			}
		})
		return nil
	})
	if left != nil {
		look.call()
	}
	return m, func(done, all, bad int) {
		m.update(func() {
			if first < 0 {
				first = done
			}
			finished, total, failed = done, all, bad
		})
		if left != nil && done+bad > first {
			look.callIfAllowed()
		}
	}
}

// throttle limits how often a function is called. After an error, the function is not called
// again.
type throttle struct {
	do     func() error
	now    func() time.Time
	next   time.Time // earliest time of the next call of callIfAllowed
	failed bool
}

// newThrottle returns a throttle of do.
func (c *command) newThrottle(do func() error) *throttle { return &throttle{do: do, now: c.now} }

// callIfAllowed calls the function, but at most about every 200 ms and for at most about 2 % of the
// time.
func (t *throttle) callIfAllowed() {
	if begun := t.now(); !begun.Before(t.next) {
		t.callAt(begun)
	}
}

// call calls the function immediately.
func (t *throttle) call() { t.callAt(t.now()) }

// callAt calls the function at time begun, which is now.
func (t *throttle) callAt(begun time.Time) {
	if t.failed {
		return
	}
	t.failed = t.do() != nil
	// The next call waits for waitFactor times the duration of this one.
	const minInterval, waitFactor = 200 * time.Millisecond, 50
	t.next = t.now().Add(max(minInterval, waitFactor*t.now().Sub(begun)))
}

// showLines prints a line after firstLineDelay and then every lineInterval.
func (m *progressMeter) showLines() {
	wait := time.NewTimer(firstLineDelay)
	defer wait.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-wait.C:
			m.c.logf("%s", m.current().line)
			wait.Reset(lineInterval)
		}
	}
}

// showBar draws a progress bar after barDelay, updates it until stop is called, and then erases
// it.
func (m *progressMeter) showBar() {
	select {
	case <-m.quit:
		return
	case <-time.After(barDelay):
	}

	// Configure the library's progress bar.
	pw := progress.NewWriter()

	// The terminal itself, because the bar moves the cursor.
	out := &byteCounter{w: unwrapWriter(m.c.stderr)}
	pw.SetOutputWriter(out)
	pw.SetUpdateFrequency(barInterval)
	style := progress.StyleDefault
	if m.c.hasColours(m.c.stderr) {
		style = progress.StyleBlocks
		style.Colors.Tracker = pretty.Colors{pretty.FgCyan}
	}
	style.Options.PercentFormat = "%3.0f%%"
	style.Options.TimeInProgressPrecision = time.Second
	style.Visibility.Value, style.Visibility.Speed = false, false
	pw.SetStyle(style)
	// A longer line would continue on the next one, which the library does not erase.
	columns := m.c.terminalWidth(unwrapWriter(m.c.stderr))
	pw.SetTerminalWidth(columns)
	pw.SetTrackerLength(barWidth)
	if columns > 0 && columns < wideColumns {
		pw.SetTrackerLength(narrowBarWidth)
	}
	tracker := &progress.Tracker{Message: text.Shown(m.current().message)}
	pw.AppendTracker(tracker)
	rendered := make(chan struct{})
	go func() { pw.Render(); close(rendered) }()

	// Calling Stop earlier has no effect.
	for !pw.IsRenderInProgress() {
		time.Sleep(time.Millisecond)
	}

	m.update(func() { m.print = func(line string) { pw.Log("sim: %s", line) } })
	defer m.update(func() { m.print = nil })

	// Update the bar until the work ends, then erase it.
	tick := time.NewTicker(barInterval)
	defer tick.Stop()
	for {
		s := m.current()
		const partsPerStep = 1000
		total, done := partsPerStep*int64(max(s.total, 1)), partsPerStep*int64(s.done)+int64(partsPerStep*s.part)
		tracker.UpdateTotal(total)

		// Never full before the work has ended.
		tracker.SetValue(min(done, total-1))
		tracker.UpdateMessage(fmt.Sprintf("%-*s", barMessageWidth, text.Shown(s.message)))
		select {
		case <-m.quit:
			pw.Stop()
			<-rendered

			// A bar was drawn; erase it.
			if out.n > 0 {
				fmt.Fprint(unwrapWriter(m.c.stderr), pretty.CursorUp.Sprint(), pretty.EraseLine.Sprint())
			}
			return
		case <-tick.C:
		}
	}
}

// byteCounter counts the bytes that are written to w.
type byteCounter struct {
	w io.Writer
	n int
}

// Write implements io.Writer.
func (c *byteCounter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.w.Write(p)
}
