package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/engine"
	"sim/engine/units"
)

// oven is the spec of a small file.
type oven struct {
	Name  string   `key:"name" doc:"what it is called" else:"the file's name"`
	Heat  int      `key:"heat" doc:"how hot" required:"" min:"1" max:"300"`
	Fan   string   `key:"fan" doc:"'on', or 'off'" default:"off" choices:"on|off"`
	Speed float64  `key:"speed" doc:"of the fan" default:"0.5" above:"0" max:"2" when:"fan=on"`
	Trays []string `key:"trays" doc:"which are in" default:"*" choices:"@trays"`
	Door  int      `key:"door" doc:"how far it is open" default:"3" max:"5" implicit:""`
	Crisp bool     `key:"crisp" doc:"whether it browns" default:"false" implicit:""`
	Crust int      `key:"crust" doc:"how thick" default:"1" max:"9" implicit:"" when:"crisp=true"`
	Grow  int      `key:"grow" doc:"how much it rises" else:"twice the heat"`
	_     string   `key:"recipe" doc:"a file that another reads"`
	Own   int      // is nobody's to say

	Timer timer `table:"timer" doc:"When it ends." when:"trays~top|grill"`
	Slow  timer `table:"slow" doc:"When it ends on low heat." when:"low & fan=off" with:"after=2s"`
}

type timer struct {
	After engine.Time `key:"after" doc:"how long it takes" default:"1s"`
	Rate  units.Rate  `key:"rate" doc:"of ticks" default:"1bps" min:"1" max:"1000"`
}

type guest struct {
	Index int    `key:"index" doc:"which" required:"" max:"9"`
	Seat  string `key:"seat" doc:"where" else:"the oven's fan"`
}

type kitchen struct {
	oven   oven
	guests []guest
}

func (k *kitchen) schema() *Schema {
	names := &Names{
		Choices: map[string]Choices{"trays": {
			Names:  func() []string { return []string{"top", "bottom"} },
			Reason: func(text string) string { return strings.Repeat("is a grill, no tray", len(text)/len("grill")) },
		}},
		Conditions: map[string]func(*Schema, []string) *Condition{"low": func(*Schema, []string) *Condition {
			return &Condition{
				Keys: []string{"oven.heat"}, Holds: func() bool { return k.oven.Heat < 100 },
				NotUsedBy: func() string { return "a hot oven" }, Hint: "set heat below 100", Replacement: "cool it",
			}
		}},
	}
	return New(names,
		Part{Path: "oven", Doc: "The oven.", Specs: []any{&k.oven}, Defaults: func(int) []any {
			d := k.oven
			d.Name, d.Grow = "stove", 2*d.Heat
			return []any{&d}
		}},
		Part{Path: "guest", Doc: "Who comes.", Specs: []any{&k.guests}, NestedTables: []string{"wish"}, Defaults: func(i int) []any {
			d := k.guests[i]
			d.Seat = k.oven.Fan
			return []any{&d}
		}})
}

// read fills a kitchen from a file and overrides of the form path=TOML.
func read(t *testing.T, text string, set ...string) (*kitchen, *Reader) {
	t.Helper()
	root, layer, wrong := Decode("x.toml", []byte(text))
	if wrong != nil {
		t.Fatal(wrong)
	}
	k := &kitchen{}
	r := NewReader(root, []Layer{layer})
	r.Schema = k.schema()
	for _, s := range set {
		path, value, _ := strings.Cut(s, "=")
		table, name := CutLast(path)
		Child(root, table)[name] = DecodeValue(value)
		r.Overrides[path] = true
	}
	r.Read(true)
	r.ApplyDefaults()
	return k, r
}

func TestReadAndWrite(t *testing.T) {
	k, r := read(t, "[oven]\nheat = 90\nfan = \"on\"\nrecipe = \"r\"\n[oven.timer]\nafter = \"3ms\"\n[[guest]]\nindex = 4\n[[guest]]\nindex = 2\nseat = \"x\"\nwish = 3\n")
	if len(r.Diagnostics) > 0 {
		t.Fatal(r.Diagnostics)
	}
	var b bytes.Buffer
	r.Schema.Write(&b)
	const want = `
[oven]
name = "stove"
heat = 90
fan = "on"
speed = 0.5
trays = ["top", "bottom"]
grow = 180

[oven.timer]
after = "3ms"
rate = "1bps"

[[guest]]
index = 4
seat = "on"

[[guest]]
index = 2
seat = "x"
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if text := "\ndoor = 3\n"; strings.Contains(b.String(), text) { // the default of a key that is implicit
		t.Errorf("%q is written back", text)
	}
	open, _ := read(t, "[oven]\nheat = 90\ndoor = 4\n")
	b.Reset()
	if open.schema().Write(&b); !strings.Contains(b.String(), "\ndoor = 4\n") {
		t.Errorf("door = 4 is not written back:\n%s", &b)
	}
	b.Reset()
	r.Schema.Write(&b)
	if k.oven.Slow.After != 2*engine.Second {
		t.Errorf("the slow timer takes %v", k.oven.Slow.After)
	}
	again, r := read(t, b.String())
	if diff := cmp.Diff(k, again, cmp.AllowUnexported(kitchen{}, oven{})); diff != "" || len(r.Diagnostics) > 0 {
		t.Error(diff, r.Diagnostics)
	}
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct {
		text string
		set  []string
		want string
	}{
		{"[oven]", nil, "x.toml:1: oven.heat: is missing; write heat = N: how hot"},
		{"[oven]\nheet = 3", nil, "x.toml:2: oven.heet: unknown key; did you mean heat?"},
		{"[oven]\nheat = 0", nil, "x.toml:2: oven.heat: 0 is out of bounds; write a whole number from 1 to 300"},
		{"[oven]\nheat = 300", nil, ""},
		{"[oven]\nheat = 301", nil, "x.toml:2: oven.heat: 301 is out of bounds; write a whole number from 1 to 300"},
		{"[oven]\nheat = \"1\"", nil, `x.toml:2: oven.heat: is the text "1"; write a whole number from 1 to 300`},
		{"[oven]\nheat = 1\nfan = \"on\"\nspeed = 2", nil, ""},
		{"[oven]\nheat = 1\nfan = \"on\"\nspeed = 2.5", nil, "x.toml:4: oven.speed: 2.5 is out of bounds; write a number above 0 and up to 2"},
		{"[oven]\nheat = 1\ndoor = 5", nil, ""},
		{"[oven]\nheat = 1\ndoor = 6", nil, "x.toml:3: oven.door: 6 is out of bounds; write a whole number from 0 to 5"},
		{"[oven]\nheat = 1\ndoor = -1", nil, "x.toml:3: oven.door: -1 is out of bounds; write a whole number from 0 to 5"},
		{"[oven]\nheat = 1\n[oven.timer]\nrate = \"1kbps\"", nil, ""},
		{"[oven]\nheat = 2.5", nil, "x.toml:2: oven.heat: 2.5 is not a whole number; write a whole number from 1 to 300"},
		{"[oven]\nheat = 1\nfan = \"of\"", nil, `x.toml:3: oven.fan: "of" is not known; choose "on" or "off"`},
		{"[oven]\nheat = 1\nspeed = 1", nil, `x.toml:3: oven.speed: is not used by fan "off"; leave it out, or set fan = "on"`},
		{"[oven]\nheat = 1\ncrust = 2", nil, "x.toml:3: oven.crust: is not used by crisp false; leave it out, or set crisp = true"},
		{"[oven]\nheat = 1\ncrisp = true\ncrust = 2", nil, ""},
		{"[oven]\nheat = 1\nfan = \"on\"\nspeed = 0", nil, "x.toml:4: oven.speed: 0 is out of bounds; write a number above 0 and up to 2"},
		{"[oven]\nheat = 1\ntrays = []", nil, `x.toml:3: oven.trays: is empty; list at least one of "top" or "bottom"`},
		{"[oven]\nheat = 1\ntrays = [\"grill\"]", nil, `x.toml:3: oven.trays: element 1: is a grill, no tray; choose one of "top" or "bottom"`},
		{"[oven]\nheat = 1\ntrays = [\"bottom\"]\n[oven.timer]", nil, `x.toml:4: oven.timer: is not used by the trays that are listed; leave it out, or add "top" or "grill" to oven.trays`},
		{"[oven]\nheat = 200\n[oven.slow]", nil, "x.toml:3: oven.slow: is not used by a hot oven; cool it"},
		{"[oven]\nheat = 1\nfan = \"on\"\n[oven.slow]", nil, `x.toml:4: oven.slow: is not used by fan "on"; leave it out, or set fan = "off"`},
		{"[oven]\nheat = 1\n[oven.timer]\nrate = \"2kbps\"", nil, `x.toml:4: oven.timer.rate: "2kbps" is out of bounds; write a rate from 1bps to 1kbps`},
		{"[oven]\nheat = 1\n[oven.timer]\nheat = 3", nil, "x.toml:4: oven.timer.heat: unknown key; it belongs in [oven]"},
		{"[oven]\nheat = 1\n[tap]", nil, "x.toml:3: tap: unknown table; known keys: oven, guest"},
		{"[oven]\nheat = 1\n[[guest]]\nindex = 3\nsaet = \"x\"", nil, "x.toml:5: guest.3.saet: unknown key; did you mean seat?"},
		{"guest = 3\n[oven]\nheat = 1", nil, "x.toml:1: guest: is the number 3; write it as an array of tables: [[guest]]"},
		// A key that an override makes unused is not reported, but an unused override is.
		{"[oven]\nheat = 1\nfan = \"on\"\nspeed = 1", []string{"oven.fan=off"}, ""},
		{"[oven]\nheat = 1", []string{"oven.speed=1"}, `--set: oven.speed: is not used by fan "off"; leave it out, or set fan = "on"`},
	} {
		_, r := read(t, c.text, c.set...)
		if got := r.Diagnostics.Sorted().Error(); got != c.want {
			t.Errorf("%q %q:\n%s\nwant\n%s", c.text, c.set, got, c.want)
		}
	}
}

// TestElementsByIndex: diagnostics identify elements with an index by it, not by
// position.
func TestElementsByIndex(t *testing.T) {
	_, r := read(t, "[oven]\nheat = 1\n[[guest]]\nindex = 7\n")
	r.Reject("guest.0.seat", "is taken", "")
	if got := r.Diagnostics.Error(); got != "x.toml:3: guest.7.seat: is taken" {
		t.Error(got)
	}
}

// TestClash: keys that exclude each other are reported at the first one given, preferably
// by an override.
func TestConflict(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{nil, "x.toml:2: oven.heat: is too much"},
		{[]string{"oven.fan=on"}, "--set: oven.fan: is too much"},
	} {
		_, r := read(t, "[oven]\nheat = 1\nfan = \"off\"\n", c.set...)
		r.Conflict([]string{"oven.grow", "oven.heat", "oven.fan"}, "is too much", "")
		if got := r.Diagnostics.Error(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestReference(t *testing.T) {
	var b bytes.Buffer
	for _, table := range new(kitchen).schema().Tables[:2] {
		table.Reference(&b, "", table.Rows())
	}
	const want = "### `[oven]`\n\nThe oven.\n\n| key | value | default | meaning |\n|---|---|---|---|\n" +
		"| `name` | text | the file's name | what it is called |\n" +
		"| `heat` | whole number from 1 to 300 | required | how hot |\n" +
		"| `fan` | one of `on`, `off` | `\"off\"` | `on`, or `off` |\n" +
		"| `speed` | number above 0 and up to 2 | `0.5` | of the fan; to use it, set fan = \"on\" |\n" +
		"| `trays` | list of `top`, `bottom` | `[\"top\", \"bottom\"]` | which are in |\n" +
		"| `door` | whole number from 0 to 5 | `3` | how far it is open |\n" +
		"| `crisp` | `true` or `false` | `false` | whether it browns |\n" +
		"| `crust` | whole number from 0 to 9 | `1` | how thick; to use it, set crisp = true |\n" +
		"| `grow` | whole number that is not negative | twice the heat | how much it rises |\n" +
		"| `recipe` | text |  | a file that another reads |\n\n" +
		"### `[oven.timer]`\n\nWhen it ends. To use it, add \"top\" or \"grill\" to oven.trays.\n\n| key | value | default | meaning |\n|---|---|---|---|\n" +
		"| `after` | a time | `\"1s\"` | how long it takes |\n" +
		"| `rate` | a rate from 1bps to 1kbps | `\"1bps\"` | of ticks |\n\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSON(t *testing.T) {
	data, err := json.Marshal(JSON("guest", new(kitchen).schema().Tables))
	const want = `{"items":{"additionalProperties":false,"description":"Who comes.","properties":{` +
		`"index":{"description":"which. Required.","maximum":9,"minimum":0,"type":"integer"},` +
		`"seat":{"description":"where. Default: the oven's fan.","maxLength":200,"type":"string"}},"type":"object"},"type":"array"}`
	if err != nil || string(data) != want {
		t.Errorf("%s, error %v", data, err)
	}
}
