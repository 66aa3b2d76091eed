package result

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// filled sets every field, list and map below v to a unique value. Recursive lists have
// two levels.
func filled(v reflect.Value, n *int) { filledIn(v, n, map[reflect.Type]int{}) }

func filledIn(v reflect.Value, n *int, within map[reflect.Type]int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("text " + strings.Repeat(`"\é`, *n%3))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filledIn(v.Elem(), n, within)
	case reflect.Struct:
		if within[v.Type()] == 2 {
			return
		}
		within[v.Type()]++
		defer func() { within[v.Type()]-- }()
		for i := range v.NumField() {
			filledIn(v.Field(i), n, within)
		}
	case reflect.Array:
		for i := range v.Len() {
			filledIn(v.Index(i), n, within)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			filledIn(v.Index(i), n, within)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"a", "b"} {
			e := reflect.New(v.Type().Elem()).Elem()
			filledIn(e, n, within)
			v.SetMapIndex(reflect.ValueOf(key), e)
		}
	}
}

// TestDecode: documents are decoded as by encoding/json.
func TestDecode(t *testing.T) {
	n := 0
	for _, of := range []any{&Manifest{}, &Document{}, &Timings{}, &Detail{}, &Sweep{}, &SweepTimings{}, &[]Plot{}} {
		v := reflect.ValueOf(of)
		for _, null := range []bool{false, true} {
			if !null {
				filled(v.Elem(), &n)
			}
			for _, indent := range []string{"", "\t"} {
				text, err := json.MarshalIndent(of, "", indent)
				if err != nil {
					t.Fatal(err)
				}
				text = bytes.Replace(text, []byte("{"), []byte(`{"later": [{"x": null}, "]"],`), 1)
				want, got := reflect.New(v.Type().Elem()), reflect.New(v.Type().Elem())
				if err := json.Unmarshal(text, want.Interface()); err != nil {
					t.Fatal(err)
				}
				if err := Decode(bytes.NewReader(text), int64(len(text)), got.Interface()); err != nil {
					t.Fatalf("%T: %v", of, err)
				}
				if !reflect.DeepEqual(got.Interface(), want.Interface()) {
					t.Errorf("%s\nwas read as\n%+v\nwant\n%+v", text, got, want)
				}
			}
			v.Elem().SetZero()
		}
	}
}

// TestDecodeWrong: the error for an invalid document contains the location.
func TestDecodeWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "unexpected end of JSON input",
		`{"title": "a`:                          "unexpected end of JSON input",
		`{"policies": [{"lanes": [{"spans": [{`: "unexpected end of JSON input",
		`[]`:                                    "the document: a list where an object belongs, at byte 1",
		`7`:                                     "the document: a number where an object belongs, at byte 1",
		`{} x`:                                  "invalid character 'x'",
		`{} {}`:                                 "more follows the document",
		`{"policies": {}}`:                      "policies: an object where a list belongs, at byte 14",
		`{"policies": ["a"]}`:                   "policies: a string where an object belongs, at byte 17",
		`{"policies": [{"lattice": true}]}`:     "policies.lattice: true or false where an object belongs",
		`{"policies": [{"makespan_s": "a"}]}`:   "policies.makespan_s: a string does not belong there",
		`{"policies": [{"path": [{"lag_s": 1e999}]}]}`:       "policies.path: a number 1e999 does not belong there",
		`{"policies": [{"lanes": [{"spans": [{}, {},,]}]}]}`: "invalid character ','",
	} {
		err := Decode(strings.NewReader(text), int64(len(text)), &Detail{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestBombs: a detail that expands to gigabytes is rejected as soon as it exceeds the
// limits. For lists of all kinds, limits reduced to a sixteenth show it.
func TestBombs(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(text))
		z.Close()
		return b.Bytes()
	}
	dir := filepath.Join(t.TempDir(), "run")
	keep(t, dir, sample())
	const span = `{"kind":"dp","label":"1","start_s":1,"end_s":2}`
	for _, c := range []struct {
		head, body string
		part       int64
	}{
		{`{"policies": [`, "{},", 1}, // uses the most memory per byte
		{``, " ", 16},
		{`{"title": "`, "a", 16},
		{`{"later": `, "[", 16},
		{`{"later": [`, "0,", 16},
		{`{"policies": [`, "{},", 16},
		{`{"policies": [{"lanes": [`, `{"spans":[` + span + `,` + span + `]},`, 16},
		{`{"policies": [{"lanes": [{"spans": [`, "{},", 16},
		{`{"policies": [{"path": [`, "{},", 16},
		{`{"policies": [{"schedule": {"phases": [{"sent":[`, "[],", 16},
		{`{"policies": [{"demand": [{"time_s": [`, "0,", 16},
		{`{"windows":{"task":[`, `"",`, 16},
	} {
		block := pack(strings.Repeat(c.body, 1<<20/len(c.body)))
		packed := append(pack(c.head), bytes.Repeat(block, 3<<10/int(c.part))...) // a gzip file may have several members
		if err := os.WriteFile(filepath.Join(dir, DetailGzip), packed, 0o666); err != nil {
			t.Fatal(err)
		}
		limits := decodeLimitsOf(&Detail{}, int64(len(packed)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var err error
		if c.part == 1 {
			_, err = Read(dir)
		} else if z, bad := gzip.NewReader(bytes.NewReader(packed)); bad != nil {
			t.Fatal(bad)
		} else {
			err = decode(z, &Detail{}, decodeLimits{limits.textBytes / c.part, limits.memoryBytes / c.part})
		}
		runtime.ReadMemStats(&after)
		if err == nil || strings.Contains(err.Error(), "unexpected end") || c.part == 1 && !strings.Contains(err.Error(), DetailGzip+" is corrupt: ") {
			t.Errorf("%s: %v", c.head, err)
		}
		// TotalAlloc is an upper bound on the memory in use. One value may have
		// maxValueBytes.
		if mib := int64(after.TotalAlloc-before.TotalAlloc) >> 20; mib > 800/c.part+6*maxValueBytes>>20 {
			t.Errorf("%s: reading it took %d MiB: %v", c.head, mib, err)
		}
	}
}

// TestLimits: a document at its limit is read, a larger one is not.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		text   string
		limits decodeLimits
		ok     bool
	}{
		{`{"title": "abc"}`, decodeLimits{16, 100}, true},
		{`{"title": "abc"}`, decodeLimits{15, 100}, false},
		{`{"title": "abc"}`, decodeLimits{16, 8}, true},
		{`{"title": "abc"}`, decodeLimits{16, 7}, false},
		{`{"policies": [{}]}`, decodeLimits{100, int64(reflect.TypeFor[Simulation]().Size())}, true},
		{`{"policies": [{}, {}]}`, decodeLimits{100, int64(reflect.TypeFor[Simulation]().Size())}, false},
	} {
		err := decode(strings.NewReader(c.text), &Detail{}, c.limits)
		if err == nil != c.ok || err != nil && !errors.Is(err, errTooLarge) {
			t.Errorf("%s within %v: %v", c.text, c.limits, err)
		}
	}
}
