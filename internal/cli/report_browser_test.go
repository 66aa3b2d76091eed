//go:build browser

package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sim/scenarios/result"
)

// browserReports lists the reports that are opened in a browser, with the commands whose
// results they contain and their views in order.
var browserReports = []struct {
	name  string
	runs  [][]string // commands without --out; each result is stored in the directory "before" or "after"
	flags []string   // flags of sim report
	views string
}{
	{"job", [][]string{{"run", "deepseek671b"}}, nil, "summary timeline topology"},
	{"fault", [][]string{{"run", "fault"}}, nil, "summary topology"},
	{"plan", [][]string{{"run", "worked-example"}}, nil, "summary plan"},
	{"graph", [][]string{{"run", "training-graph"}}, nil, "summary timeline topology"},
	{"fleet", [][]string{{"run", "fleet-10d"}}, nil, "summary fleet"},
	{"sweep", [][]string{{"sweep", "fig13b-32"}}, nil, "explorer"},
	{"change", [][]string{{"run", "gpt7b"}, {"run", "gpt7b", "--set", "workload.microbatches=16"}}, []string{"--compare"}, "differs"},
}

// TestReportInBrowser opens reports of shipped scenarios from disk in a browser. A report
// requests no other files and logs no warnings. Each view equals its stored screenshot, shows
// the values of result.json, and can be used with the keyboard.
func TestReportInBrowser(t *testing.T) {
	browser := startBrowser(t)
	for _, b := range browserReports {
		t.Run(b.name, func(t *testing.T) {
			dirs, file := writeTestReport(t, b.runs, b.flags)
			tab := openReport(t, browser, file)
			size, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d kB, drawn %.0f ms after it was asked for", size.Size()/1000, tab.number("opened"))
			if got := strings.Join(tab.texts(`[...document.querySelectorAll("#views a")].map(a => a.hash.slice(1).split("/")[0])`), " "); got != b.views {
				t.Fatalf("views %s, want %s", got, b.views)
			}
			for i, view := range strings.Fields(b.views) {
				tab.blur()
				tab.press(fmt.Sprint(i + 1))
				tab.waitUntilDrawn()
				if got := tab.text(`document.querySelector("main section").dataset.view`); got != view {
					t.Fatalf("key %d shows %s, not %s", i+1, got, view)
				}
				if view != "summary" || b.name == "job" { // one summary is sufficient
					tab.compareScreenshot(b.name + "-" + view)
				}
				if check := viewChecks[view]; check != nil {
					check(tab, dirs)
				}
				tab.checkKeyboard(view)
			}
			tab.blur()
			tab.press("?")
			if !tab.isTrue(`document.getElementById("keys").open`) {
				t.Error("? does not show the keys")
			}
			tab.checkConsole()
		})
	}
}

// writeTestReport runs commands and writes the report of their results.
func writeTestReport(t *testing.T, runs [][]string, flags []string) (dirs []string, file string) {
	t.Helper()
	t.Chdir(t.TempDir()) // the report contains relative directories
	for i, args := range runs {
		dir := []string{"before", "after"}[i]
		mustSucceed(t, append(slices.Clone(args), "--no-plots", "--out", dir))
		dirs = append(dirs, dir)
		equaliseTimings(t, dir)
	}
	mustSucceed(t, slices.Concat([]string{"report"}, dirs, flags, []string{"-o", "report.html"}))
	file, err := filepath.Abs("report.html")
	if err != nil {
		t.Fatal(err)
	}
	return dirs, file
}

var secondsPattern = regexp.MustCompile(`_s": [0-9.e+-]+`)

// equaliseTimings sets all times in the timings of dir to the same value, because the widths
// of columns depend on them, and updates the digest in the manifest.
func equaliseTimings(t *testing.T, dir string) {
	t.Helper()
	timings, manifest := filepath.Join(dir, result.TimingsFile), filepath.Join(dir, result.ManifestFile)
	text, err := os.ReadFile(timings)
	if err != nil {
		t.Fatal(err)
	}
	stopped := secondsPattern.ReplaceAll(text, []byte(`_s": 0.123`))
	sums, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
	err = errors.Join(os.WriteFile(timings, stopped, 0o666),
		os.WriteFile(manifest, []byte(strings.ReplaceAll(string(sums), sum(text), sum(stopped))), 0o666))
	if err != nil {
		t.Fatal(err)
	}
}

// mustSucceed runs a command that must exit with 0.
func mustSucceed(t *testing.T, args []string) {
	t.Helper()
	var out, err strings.Builder
	c := newCommand()
	c.stdout, c.stderr = &out, &err
	if code := c.main(context.Background(), append([]string{"sim"}, args...)); code != exitOK {
		t.Fatalf("sim %s: code %d: %s", strings.Join(args, " "), code, &err)
	}
}

// startBrowser starts a browser for all tests. Without an installed browser it skips the test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		t.Skip("there is no chromium")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// browserTab is a page in the browser.
type browserTab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // URLs that the page requested
	problems []string // errors and warnings of the console
}

// observerScript records when the first view is drawn, the duration of each frame, and the
// elements that had the focus.
const observerScript = `
window.observed = {opened: 0, frames: [], focused: new Set()};
new MutationObserver((_, o) => {
	if (!document.documentElement.dataset.ready) return;
	o.disconnect();
	requestAnimationFrame(() => requestAnimationFrame(() => { observed.opened = performance.now(); }));
}).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-ready"]});
addEventListener("focusin", e => observed.focused.add(e.target));
{
	const frame = requestAnimationFrame;
	window.requestAnimationFrame = f => frame(t => { const begin = performance.now(); f(t); observed.frames.push([begin, performance.now() - begin]); });
}`

// openReport opens a file and waits until its first view is drawn.
func openReport(t *testing.T, browser context.Context, file string) *browserTab {
	t.Helper()
	ctx, stop := chromedp.NewContext(browser)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(stop)
	w := &browserTab{T: t, ctx: ctx}
	w.do(chromedp.EmulateViewport(800, 600))
	if err := chromedp.Listen(ctx, w.record); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observerScript}); err != nil {
		t.Fatal(err)
	}
	w.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`observed.opened > 0`)); err != nil {
		t.Fatalf("%s does not open: %v; %s", filepath.Base(file), err, w.problems)
	}
	return w
}

// record records requests of the page and messages of its console.
func (w *browserTab) record(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		w.problems = append(w.problems, e.ExceptionDetails.Text+" "+fmt.Sprint(e.ExceptionDetails.Exception.Description))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			w.problems = append(w.problems, fmt.Sprintf("console: %s %s", e.Type, e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.problems = append(w.problems, e.Entry.Text)
		}
	}
}

// checkConsole fails if the page has logged a warning or requested a file other than itself.
func (w *browserTab) checkConsole() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) > 0 {
		w.Errorf("the page complains: %s", strings.Join(w.problems, "\n"))
	}
	if len(w.requests) != 1 || !strings.HasPrefix(w.requests[0], "file:") {
		w.Errorf("the page asks for %s", w.requests)
	}
}

// do performs actions in the page.
func (w *browserTab) do(steps ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression in the page.
func eval[T any](w *browserTab, expression string) T {
	w.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (w *browserTab) text(expression string) string { w.Helper(); return eval[string](w, expression) }
func (w *browserTab) texts(expression string) []string {
	w.Helper()
	return eval[[]string](w, expression)
}
func (w *browserTab) isTrue(expression string) bool { w.Helper(); return eval[bool](w, expression) }
func (w *browserTab) number(observed string) float64 {
	w.Helper()
	return eval[float64](w, "observed."+observed)
}
func (w *browserTab) press(keys string) { w.Helper(); w.do(chromedp.KeyEvent(keys)) }

// blur removes the focus from the focused element.
func (w *browserTab) blur() { w.Helper(); w.isTrue(`document.activeElement.blur() === undefined`) }

// waitUntilDrawn waits until pending changes are drawn.
func (w *browserTab) waitUntilDrawn() {
	w.Helper()
	w.isTrue(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// checkKeyboard fails unless the Tab key reaches every control of the page, and arrow keys on
// every picture change the view or show a tooltip.
func (w *browserTab) checkKeyboard(view string) {
	w.Helper()
	const controls = `[...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")].filter(e => e.checkVisibility() && !e.disabled)`
	n := eval[int](w, `document.activeElement.blur(), observed.focused.clear(), scrollTo(0, 0), `+controls+`.length`)
	w.press(strings.Repeat(kb.Tab, n+2))
	if missed := w.texts(controls + `.filter(e => !observed.focused.has(e)).map(e => e.outerHTML.slice(0, 90))`); len(missed) > 0 {
		w.Errorf("%s: the key Tab does not reach %s", view, strings.Join(missed, "\n"))
	}
	const pictures = `[...document.querySelectorAll("main canvas")].filter(c => c.checkVisibility()).map(c => c.closest("[tabindex='0']")).filter(e => e)`
	for i := range eval[int](w, pictures+`.length`) {
		const shown = `location.hash + document.querySelector("main").textContent`
		before := w.text(fmt.Sprintf(`%s[%d].focus(), %s`, pictures, i, shown))
		w.press(kb.ArrowRight + kb.ArrowRight)
		w.waitUntilDrawn()
		if w.isTrue(`document.getElementById("tip").hidden`) && w.text(shown) == before {
			w.Errorf("%s: keys do nothing on picture %d, %s", view, i+1, w.text(fmt.Sprintf(`%s[%d].getAttribute("aria-label")`, pictures, i)))
		}
		w.press(kb.Escape)
	}
	if unsaid := w.texts(`[...document.querySelectorAll("main canvas, main svg")].filter(e => !e.closest("[role=img][aria-label]")).map(e => e.outerHTML.slice(0, 90))`); len(unsaid) > 0 {
		w.Errorf("%s: pictures without words: %s", view, unsaid)
	}
}
