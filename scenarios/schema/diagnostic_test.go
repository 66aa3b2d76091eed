package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDiagnosticString: the line of a diagnostic omits empty parts, quotes names with
// control characters, and has limited length.
func TestDiagnosticString(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for want, d := range map[string]Diagnostic{
		"a.toml:3: job.pp: it is 0; want 1": {"a.toml", 3, "job.pp", "it is 0", "want 1"},
		"a.toml: it is 0":                   {"a.toml", 0, "", "it is 0", ""},
		"a.toml: job.pp: it is 0":           {"a.toml", 0, "job.pp", "it is 0", ""},
		`"": it is 0; want 1`:               {"", 0, "", "it is 0", "want 1"},
		`"a\nb": it is 0`:                   {"a\nb", 0, "", "it is 0", ""},
		"a.toml: " + long[:200] + "...: x":  {"a.toml", 0, long, "x", ""},
		"a.toml: " + long[:300] + "...":     {"a.toml", 0, "", long, ""},
	} {
		if got := d.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (Diagnostic{long, 1, long, long, long}).String(); len(got) > maxLineBytes+10 {
		t.Errorf("a line has %d bytes", len(got))
	}
	for _, c := range []struct {
		text, want string
		maxBytes   int
	}{{"abc", "abc", 3}, {"abcd", "abc...", 3}, {"aé", "a...", 2}, {"", "", 0}} {
		if got := Clip(c.text, c.maxBytes); got != c.want {
			t.Errorf("%q of at most %d bytes is %q, want %q", c.text, c.maxBytes, got, c.want)
		}
	}
}

// TestSorted: diagnostics are sorted by line, overrides last, without duplicates. Three
// similar ones are printed and the others counted, and so are those beyond a hundred.
func TestSorted(t *testing.T) {
	at := func(file string, line int, problem string) Diagnostic {
		return Diagnostic{File: file, Line: line, Problem: problem}
	}
	ds := Diagnostics{at(SetFile, 1, "z"), at("a", 7, "b"), at("a", 2, "c"), at("a", 2, "c"), at("a", 2, "a"), at(SetFile, 0, "y")}
	if got, want := ds.Sorted().Error(), "a:2: c\na:2: a\na:7: b\n--set: y\n--set:1: z"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !errors.Is(ds, ErrInput) || errors.Is(ds, errors.ErrUnsupported) {
		t.Error("diagnostics are ErrInput and nothing else")
	}
	ds = nil
	for i := range 5 {
		ds = append(ds, at("a", 2, fmt.Sprintf(`"v%d" is no. %d`, i, i)), at("a", 2, fmt.Sprintf("entry %d", i%4)))
	}
	if got, want := ds.Sorted().Error(), "a:2: \"v0\" is no. 0\na:2: entry 0\na:2: \"v1\" is no. 1\na:2: entry 1\na:2: \"v2\" is no. 2\na:2: entry 2\na:2: and 2 more like these\na:2: and 2 more like these"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for n, last := range map[int]string{maxDiagnostics: "a:100: p", maxDiagnostics + 1: "a: and 1 more; mend these first", maxDiagnostics + 9: "a: and 9 more; mend these first"} {
		ds = nil
		for i := range n {
			ds = append(ds, at("a", n-i, "p"))
		}
		got := ds.Sorted()
		if len(got) != min(n, maxDiagnostics+1) || got[len(got)-1].String() != last {
			t.Errorf("of %d are kept %d, the last %s", n, len(got), got[len(got)-1])
		}
	}
}

// TestDecodeRefused: invalid, too large or too deep TOML is rejected with its line. The
// content of files that are not scenarios by name is not printed.
func TestDecodeRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.toml", "a = 1\nb = \n", "a.toml:2: broken TOML: "},
		{"a.toml", "a = 1\nb = 99999999999999999999\n", "a.toml:2: b: 99999999999999999999 is out of bounds; write a whole number from -9223372036854775808"},
		{"a.toml", "a = 1\na = 2\n", "broken TOML: "},
		{"a.toml", strings.Repeat("#", MaxFileBytes+1), "a.toml: is larger than "},
		{"a.toml", "a = " + strings.Repeat("[", 5000), "scenarios are short and shallow"},
		{"a.toml", "a = 1\nlink_rate = 400Gbps # fast\n", `a.toml:2: broken TOML: 400Gbps is no TOML value: texts and numbers with a unit need quotes; write link_rate = "400Gbps"`},
		{"a.toml", "overlap = yes\n", "yes is no TOML value, which has true and false; write overlap = true"},
		{"a.toml", "overlap = Off\n", "write overlap = false"},
		{"a.toml", "title = My study\n", `write title = "My study"`},
		{"a.toml", "twist = 010010\n", `write twist = "010010"`},
		{"a.toml", "dims = 8,8,8\n", "write dims = [8, 8, 8]"},
		{"a.toml", "routers = dor, ecmp\n", `write routers = ["dor", "ecmp"]`},
		{"a.toml", "tasks = 1,000,000\n", "write tasks = 1000000"},
		{"a.toml", "routers = [\"dor\", ecmp]\n", `ecmp is no TOML value: texts and numbers with a unit need quotes; write "ecmp"`},
		{"a.toml", "sizes = [\n  1MB,\n  2MB,\n]\n", `a.toml:2: broken TOML: 1MB is no TOML value: texts and numbers with a unit need quotes; write "1MB"`},
		{"a.toml", "fabric = { kind = torus, dims = [8, 8] }\n", `write "torus"`},
		{"a.toml", "seed = 01a\n", `write seed = "01a"`},
		{"a.toml", "seed = 1__0\n", "broken TOML: Invalid integer"},
		{"a.toml", "seed = 0x\n", "broken TOML: not a hexadecimal number"},
		{"a.toml", "name: yaml\n", "broken TOML: expected '.' or '='"},
		{"passwd", "token = 400Gbps", "passwd:1: is no TOML; see https://toml.io"},
		{"passwd", "root:x:0:0", "passwd:1: is no TOML; see https://toml.io"},
	} {
		root, _, ds := Decode(c.name, []byte(c.text))
		if root != nil || len(ds) != 1 || !strings.Contains(ds.Error(), c.want) || strings.Contains(ds.Error(), "\n") {
			t.Errorf("%.40q: %v, want %s", c.text, ds, c.want)
		}
	}
	if root, layer, ds := Decode("a.toml", []byte("a = 1\n[b]\nc = 2\n")); ds != nil || root["a"] != int64(1) || layer.Line("b.c") != 3 || layer.File != "a.toml" {
		t.Errorf("%v, %v, %v", root, layer, ds)
	}
	for text, want := range map[string]any{
		"1": int64(1), `"x"`: "x", "x": "x", "": "", "true": true, "1\nw = 2": "1\nw = 2", strings.Repeat("[", 5000): strings.Repeat("[", 5000),
	} {
		if got := DecodeValue(text); got != want {
			t.Errorf("%.20q is %v, want %v", text, got, want)
		}
	}
}
