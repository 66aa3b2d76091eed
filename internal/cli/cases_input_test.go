package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

var inputCases = []correctedCase{
	{
		name: "panic", args: []string{"check", "@/panic.toml"},
		before: "panic in inpods.go", right: "the two diagnostics that appear without mappings",
		check: checkRejected("panic.toml:5: workload.tp: ", "panic.toml:8: workload.architecture.top_k: "),
	},
	{
		name: "nan-in-axis", args: []string{"check", "@/mixed.toml"},
		before: "exit 1, json: unsupported value: NaN", right: "exit 2 with file, line and key",
		check: checkRejected("mixed.toml:3: sweep.workload.schedule: "),
	},
	{
		name: "nan-beneath-axis", args: []string{"check", "@/swept2.toml"},
		before: "exit 1, json: unsupported value: NaN", right: "exit 2 with file, line and key",
		check: checkRejected("swept2.toml:3: workload.microbatches: "),
	},
	{
		name: "bidi", args: []string{"run", "@/bidi.toml"},
		before: "control characters reach the terminal", right: "escaped", check: checkEscaped,
	},
	{
		name: "bidi-check", args: []string{"check", "@/bidi.toml"},
		before: "control characters reach the terminal", right: "escaped", check: checkEscaped,
	},
	{
		name: "wrong-peer", args: []string{"check", "@/wrong-peer.toml"},
		before: "blames workload.root", right: "blames workload.peer",
		check: checkRejected("wrong-peer.toml:1: workload.peer: "),
	},
	{
		name: "payload-of-call", args: []string{"check", "@/payload.toml"},
		before: "a key without effect", right: "refused, or an effect",
		check: checkRejected("payload.toml:5: workload.payload: is not used by a collective call"),
	},
	{
		name: "duration-of-phases", args: []string{"check", "@/dur.toml"},
		before: "a key without effect", right: "refused, or an effect",
		check: checkRejected("dur.toml:7: workload.duration: is not used by workload"),
	},
	{
		name: "milp-export", args: []string{"check", "@/milp-export.toml"},
		before: "writes files outside the run", right: "refused: outputs are flags",
		check: checkRejected("milp-export.toml:6: policy.milp.export: names an output, which no key does any more; leave it out, and give sim run --milp-export DIR"),
	},
	{
		name: "too-few-ports", args: []string{"check", "@/too-few-ports.toml"},
		before: "check OK, run fails", right: "check refuses",
		check: checkRejected("too-few-ports.toml:11: fabric.ports_per_pod: direct: too few ports: pod 0 exchanges data with 10 pods and has 4 ports"),
	},
	{
		name: "pods255", args: []string{"check", "@/pods255.toml"},
		before: "check OK, run fails", right: "check refuses",
		check: checkRejected("fabric.tier.1.ports_per_pod: direct: too few ports: pod 0 exchanges data with 254 pods and has 4 ports"),
	},
	{
		name: "tiny-chunk", args: []string{"check", "@/tiny-chunk.toml", "--set", "workload.message=128KB"},
		before: "check OK, then out of memory", right: "refused by check, with the estimate",
		check: checkRejected("tiny-chunk.toml:29: policy.chunk: ring: broadcast among 16 ranks is 1,920,000 transfers, which take 3.84 GB of memory"),
	},
	{
		name: "tiny-chunk-of-much", args: []string{"check", "@/tiny-chunk.toml", "--set", "workload.message=1TB"},
		before: "check OK, then out of memory", right: "refused by check, with the estimate",
		check: checkRejected("tiny-chunk.toml:29: policy.chunk: ring: broadcast among 16 ranks is more than"),
	},
}

// checkRejected returns a check that the command exits with 2 and prints exactly one line per
// element of want, which the line contains.
func checkRejected(want ...string) func(caseOutcome) (string, error) {
	return func(o caseOutcome) (string, error) {
		lines := strings.Split(strings.TrimRight(o.stderr, "\n"), "\n")
		now := strings.Join(lines, " / ")
		if o.code != exitInvalidInput || len(lines) != len(want) {
			return now, fmt.Errorf("exit code %d with %d lines, want 2 with %d", o.code, len(lines), len(want))
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				return now, fmt.Errorf("line %d is %q, want one with %q", i+1, lines[i], want[i])
			}
		}
		return now, nil
	}
}

// checkEscaped checks that the output contains no character that a terminal would interpret,
// and that the characters of bidi.toml are printed as escapes.
func checkEscaped(o caseOutcome) (string, error) {
	all := o.stdout + o.stderr
	now, _, _ := strings.Cut(all, "\n")
	if i := strings.IndexFunc(all, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
		return now, fmt.Errorf("a character of %q reorders text", all[i:i+3])
	}
	if o.code != exitOK || !strings.Contains(all, `\u202ea`) {
		return now, fmt.Errorf(`exit code %d, want 0 and \u202ea in the output`, o.code)
	}
	return now, nil
}

// TestLongLists: a list of many thousand elements, keys or tables is rejected in less than a
// second on a free machine, so no check compares all pairs. The limit is higher, because the
// machine may be busy.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("checks long files")
	}
	list := func(prefix string, n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, i))
		}
		return "[" + strings.Join(names, ",") + "]"
	}
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const torus, work = "fabric={kind=\"torus\",dims=[4,4],%s}\n", "workload={kind=\"all-to-all\",message=\"64KB\"}\n"
	for name, text := range map[string]string{
		"open":         work + fmt.Sprintf(torus, "open="+list("a", 200_000)),
		"files":        "workload={kind=\"trace\",files=" + list("f", 100_000) + "}\n" + fmt.Sprintf(torus, ""),
		"failed_links": work + fmt.Sprintf(torus, "failed_links="+list("a", 100_000)),
		"keys":         "base=\"gpt7b\"\n[workload]\n" + lines(50_000, "k%d=1\n"),
		"tables":       "base=\"gpt7b\"\n" + lines(45_000, "[t%d]\na=1\n"),
		"sweepaxes":    "base=\"gpt7b\"\n[sweep]\n" + lines(45_000, "\"workload.k%d\"=[1]\n"),
		"sweepnames":   "base=\"gpt7b\"\n[sweep]\n\"policy.allocators\"=[" + list("a", 50_000) + "]\n",
	} {
		file := filepath.Join(t.TempDir(), name+".toml")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		c, _, stderr := newBufferedCommand()
		begun := time.Now()
		code := c.mainUntilCancelled(t.Context(), []string{"sim", "check", file})
		took := time.Since(begun)
		if code != exitInvalidInput || took > 4*time.Second {
			t.Errorf("%s: exit code %d after %v, want 2 within 4 s\n%.300s", name, code, took, stderr)
		}
		if n := strings.Count(stderr.String(), "\n"); n > 101 || !slices.Contains(strings.Split(stderr.String(), "\n"), "") {
			t.Errorf("%s: %d lines, want at most 101", name, n)
		}
	}
}
