package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestScanLines(t *testing.T) {
	src := strings.Join([]string{
		`# comment = 1`,                   // 1
		`top = 1 # [not.a.table]`,         // 2
		`a.b."c.d" = "x = 1"`,             // 3
		`text = """`,                      // 4
		`[inside] "quoted" \"""`,          // 5
		`y = 2"""""`,                      // 6
		`raw = '''`,                       // 7
		`z = 3 \'''`,                      // 8
		`"é\u0041\n" = 'C:\'`,             // 9
		`list = [ # one`,                  // 10
		`  1, "]", # two ]`,               // 11
		`  [2, 3],`,                       // 12
		`  { k = [4], l.m = "}" }, ]`,     // 13
		`[table . "q.r"]`,                 // 14
		`k = 2026-01-01T00:00:00Z`,        // 15
		"[[rows]]\r",                      // 16
		"i = 1\r",                         // 17
		`[rows.sub]`,                      // 18
		`j = inf`,                         // 19
		`[[rows]]`,                        // 20
		`inline = { a = 1, b = { c = 2}}`, // 21
		`[[rows.nested]]`,                 // 22
		`[[rows.nested]]`,                 // 23
		`x = +1_000`,                      // 24
	}, "\n")
	var decoded map[string]any
	if _, err := toml.Decode(src, &decoded); err != nil {
		t.Fatal(err)
	}
	got, excess, _ := scanLines([]byte(src))
	if excess != "" {
		t.Fatal(excess)
	}
	want := lineIndex{
		"top": 2, "a": 3, "a.b": 3, `a.b."c.d"`: 3, "text": 4, "raw": 7, `"éA\n"`: 9,
		"list": 10, "list.2": 12, "list.3": 13, "list.3.k": 13, "list.3.l": 13, "list.3.l.m": 13,
		"table": 14, `table."q.r"`: 14, `table."q.r".k`: 15,
		"rows": 16, "rows.0": 16, "rows.0.i": 17, "rows.0.sub": 18, "rows.0.sub.j": 19,
		"rows.1": 20, "rows.1.inline": 21, "rows.1.inline.a": 21, "rows.1.inline.b": 21, "rows.1.inline.b.c": 21,
		"rows.1.nested": 22, "rows.1.nested.0": 22, "rows.1.nested.1": 23, "rows.1.nested.1.x": 24,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanLinesLimits(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"\na" + strings.Repeat(".a", MaxKeyParts) + " = 1", "a key of more than 16 parts"},
		{"\na = " + strings.Repeat("[", maxDepth+2), "lists or tables nested more than 32 deep"},
		{"\na = " + strings.Repeat("{a=", maxDepth+2), "lists or tables nested more than 32 deep"},
	} {
		if _, excess, at := scanLines([]byte(tt.src)); excess != tt.want || at != 2 {
			t.Errorf("%.20q...: %q at line %d, want %q at line 2", tt.src, excess, at, tt.want)
		}
	}
}

// everyLine fails if a key or table of a decoded file has no line.
func everyLine(t interface{ Errorf(string, ...any) }, found lineIndex, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, sub := range v {
			at := JoinPath(path, name)
			if found[at] == 0 {
				t.Errorf("no line for %s", at)
			}
			everyLine(t, found, at, sub)
		}
	case []map[string]any:
		for i, sub := range v {
			everyLine(t, found, JoinPath(path, fmt.Sprint(i)), sub)
		}
	case []any:
		for i, sub := range v {
			everyLine(t, found, JoinPath(path, fmt.Sprint(i)), sub)
		}
	}
}

// TestScanLinesFindsAllKeys: keys have numbered names and are written in every notation
// of TOML. The scanner must find each one on its line.
func TestScanLinesFindsAllKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		want := map[string]int{}
		line, n := 1, 0
		write := func(text string) {
			b.WriteString(text)
			line += strings.Count(text, "\n")
		}
		key := func(path string) string {
			n++
			name := fmt.Sprintf("k%d", n)
			want[JoinPath(path, name)] = line
			if rapid.Bool().Draw(t, "quoted") {
				return `"` + name + `"`
			}
			return name
		}
		value := func() string {
			return rapid.SampledFrom([]string{
				"1", "-0.5e3", "true", `"a # b = [c]"`, `'\'`, `"\""`, "\"\"\"\n[x]\ny = 1\"\"\"", "'''\n'''", `""`, `""""""`,
				"[]", "[1,\n 2 # ]\n]", "[[1], [\n\"]\"]]", "{}", "2026-01-01", "\"\"\"a\\\n  b\"\"\"\"",
			}).Draw(t, "value")
		}
		path, tables := "", 0
		for range rapid.IntRange(0, 30).Draw(t, "items") {
			switch rapid.IntRange(0, 4).Draw(t, "item") {
			case 0:
				write(rapid.SampledFrom([]string{"\n", "# [x]\n", "  \t\n", "\r\n"}).Draw(t, "blank"))
			case 1:
				tables++
				path = fmt.Sprintf("t%d", tables)
				want[path] = line
				write("[ " + path + " ]\n")
			case 2:
				tables++
				path = fmt.Sprintf("t%d", tables)
				for i := range rapid.IntRange(1, 3).Draw(t, "elements") {
					want[JoinPath(path, fmt.Sprint(i))] = line
					write("[[" + path + "]] # x\n")
				}
				path = JoinPath(path, fmt.Sprint(strings.Count(b.String(), "[["+path+"]]")-1))
			case 3:
				outer := key(path)
				at := JoinPath(path, fmt.Sprintf("k%d", n))
				write(outer + " . " + key(at) + " = " + value() + "\n")
			default:
				write(key(path) + "=" + value() + " # c\n")
			}
		}
		var decoded map[string]any
		if _, err := toml.Decode(b.String(), &decoded); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		found, _, _ := scanLines([]byte(b.String()))
		for k, l := range want {
			if found[k] != l {
				t.Errorf("%s on line %d, want %d, in\n%s", k, found[k], l, b.String())
			}
		}
		everyLine(t, found, "", decoded)
	})
}
