//go:build browser

package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sim/scenarios/report/page"
	"sim/scenarios/result"
)

var requireFrameRate = flag.Bool("frames", false, "fail where a timeline is drawn less than 30 times a second, which other work on the machine may cause")

// timelineRun returns a run whose timeline has the given number of bars.
func timelineRun(bars int) *result.Run {
	const tracks = 64
	p := result.Simulation{Policy: "many", MakespanS: float64(bars/tracks) * 1e-3}
	for k := range tracks {
		t := result.Track{Name: fmt.Sprintf("stage %d", k), Group: fmt.Sprintf("pod %d", k/16)}
		for i := range bars / tracks {
			at := float64(i) * 1e-3
			t.Spans = append(t.Spans, result.Span{Kind: []string{"forward", "backward"}[(i+k)%2], Label: fmt.Sprint(i), StartS: at, EndS: at + 0.9e-3})
		}
		p.Tracks = append(p.Tracks, t)
	}
	r := &result.Run{Dir: "many"}
	r.Document = result.Document{Scenario: "many", Rows: []result.Row{{Policy: "many", Metrics: map[string]float64{"makespan_s": p.MakespanS}}}}
	r.Detail = result.Detail{Title: "a timeline of many bars", Policies: []result.Simulation{p}}
	return r
}

// TestFramesInBrowser zooms and moves a timeline of 100,000 bars by wheel and keys. The median
// duration of a frame allows 30 frames per second.
func TestFramesInBrowser(t *testing.T) {
	const bars, rate = 100_000, 30
	browser := startBrowser(t)
	file := filepath.Join(t.TempDir(), "many.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Write(f, []page.Document{page.RunDocument(timelineRun(bars))}, figureStyle()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w := openReport(t, browser, file)
	w.press("2") // the timeline
	w.waitUntilDrawn()
	w.do(chromedp.EmulateViewport(1280, 800))
	w.waitUntilDrawn()
	w.isTrue(`(() => {
		observed.frames.length = 0;
		observed.ticks = [];
		const tick = t => { observed.ticks.push(t); requestAnimationFrame(tick); };
		requestAnimationFrame(tick);
		document.querySelector("main canvas").focus();
		return true;
	})()`)
	wheel := func(by float64) {
		w.do(chromedp.MouseEvent("mouseWheel", 600, 500, chromedp.ButtonModifiers(chromedp.ModifierCtrl), scrollBy(by)))
	}
	whole := w.textOf(".controls .note")
	for _, by := range []float64{-120, 120} {
		for range 30 {
			wheel(by)
		}
		w.waitUntilDrawn()
		if now := w.textOf(".controls .note"); (now == whole) != (by > 0) {
			t.Errorf("the wheel turned by %g shows %s", by, now)
		}
	}
	for _, key := range []string{"+", "-", kb.ArrowRight} {
		for range 15 {
			w.press(key)
		}
	}
	w.waitUntilDrawn()
	took := eval[[]float64](w, `observed.frames.map(f => f[1]).filter(d => d > 0.5)`) // frames that redrew the timeline
	ticks := eval[[]float64](w, `observed.ticks`)
	if len(took) < 50 {
		t.Fatalf("only %d pictures were drawn", len(took))
	}
	slices.Sort(took)
	perSecond := 1000 * float64(len(ticks)-1) / (ticks[len(ticks)-1] - ticks[0])
	t.Logf("%d bars: %d pictures, the median takes %.1f ms, nine of ten less than %.1f ms; %.0f frames a second", bars, len(took), took[len(took)/2], took[len(took)*9/10], perSecond)
	if took[len(took)/2] > 1000/rate {
		t.Errorf("the median picture takes %.1f ms, more than %d a second allow", took[len(took)/2], rate)
	}
	if *requireFrameRate && perSecond < rate {
		t.Errorf("%.0f frames a second, want %d", perSecond, rate)
	}
	w.checkConsole()
}

// scrollBy turns the wheel by a distance.
func scrollBy(by float64) chromedp.MouseOption {
	return func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 1e-6, by }
}
