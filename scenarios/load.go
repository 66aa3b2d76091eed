package scenarios

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed *.toml compose/*.toml paper/*.toml tori/*.toml scaleup/*.toml
var embedded embed.FS

// Embedded returns the names of the scenarios that are built in, such as
// "scenarios/deepseek671b.toml", in order.
func Embedded() []string { return builtIn(false) }

// EmbeddedStudies returns the names of the studies that are built in, such as
// "scenarios/paper/delta-fig6.toml", in order.
func EmbeddedStudies() []string { return builtIn(true) }

// builtIn returns the files that are built in, folder by folder: the studies, or
// the others.
func builtIn(studies bool) []string {
	shipped.once.Do(func() {
		for _, pattern := range []string{"*.toml", "compose/*.toml", "paper/*.toml", "tori/*.toml", "scaleup/*.toml"} {
			names, err := fs.Glob(embedded, pattern)
			if err != nil {
				panic(err) // the patterns are well formed
			}
			for _, inside := range names {
				data, err := embedded.ReadFile(inside)
				if err != nil {
					panic(err) // it was listed
				}
				name := path.Join("scenarios", inside)
				if isStudy(name, data) {
					shipped.studies = append(shipped.studies, name)
				} else {
					shipped.single = append(shipped.single, name)
				}
			}
		}
	})
	if studies {
		return slices.Clone(shipped.studies)
	}
	return slices.Clone(shipped.single)
}

// shipped are the files that are built in, which nobody changes.
var shipped struct {
	once            sync.Once
	single, studies []string
}

// Load reads the scenario file at path. If there is none, and path names a
// scenario that is built in ("scenarios/gpt7b.toml", "gpt7b.toml" or "gpt7b"),
// it reads that. Overrides are of the form "key=value", where value is TOML or
// plain text; a replica's key is "replica.INDEX.key". Every error is of type
// Faults and holds all faults of the input.
func Load(path string, overrides []string) (*Scenario, error) {
	name, data, fault := open(path)
	if fault != nil {
		return nil, Faults{*fault}
	}
	return Parse(name, data, overrides)
}

func open(file string) (name string, data []byte, fault *Fault) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return openEmbedded(file)
	case err == nil && info.IsDir():
		return "", nil, &Fault{File: file, What: "is a directory", Want: "name a scenario file in it"}
	case err == nil:
		data, err = readSome(file)
	}
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", nil, &Fault{File: file, What: "cannot be read: " + err.Error(), Want: "name a readable file"}
	}
	return file, data, nil
}

// readSome reads a file, or of one that is too large a byte too much.
func readSome(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

func openEmbedded(file string) (name string, data []byte, fault *Fault) {
	known := append(Embedded(), EmbeddedStudies()...)
	asked := path.Clean(filepath.ToSlash(file))
	if path.Ext(asked) != ".toml" {
		asked += ".toml"
	}
	for _, name := range known {
		inside := strings.TrimPrefix(name, "scenarios/")
		if asked != name && asked != inside && asked != path.Base(name) {
			continue
		}
		data, err := embedded.ReadFile(inside)
		if err != nil {
			panic(err) // it was listed
		}
		return name, data, nil
	}
	hint := "name a file, or what sim list scenarios or sim list studies names"
	if n := nearest(path.Join("scenarios", path.Base(asked)), known); n != "" {
		hint = "did you mean " + n + "?"
	}
	return "", nil, &Fault{File: file, What: "no such file", Want: hint}
}

func tooLarge(file string) *Fault {
	return &Fault{File: file, What: fmt.Sprintf("is larger than %d MiB", maxFileBytes>>20), Want: "scenarios are short texts"}
}

// Parse reads a scenario from data. name stands for the file in faults and
// gives the scenario its default name. Overrides and errors are as in Load.
func Parse(name string, data []byte, overrides []string) (*Scenario, error) {
	c, faults := parse(name, data, overrides)
	if faults != nil {
		return nil, faults
	}
	return c.finish()
}

// ParseCell is Parse of one cell of a sweep: whether its policies can serve it is not
// asked, since a row that says so is a result there.
func ParseCell(name string, data []byte) (*Scenario, error) {
	c, faults := parse(name, data, nil)
	if faults != nil {
		return nil, faults
	}
	c.cell = true
	return c.finish()
}

// parse is Parse before the keys are checked.
func parse(name string, data []byte, overrides []string) (*checker, Faults) {
	src, faults := decode(name, data)
	if faults != nil {
		return nil, faults
	}
	for _, o := range overrides {
		if key, raw, ok := strings.Cut(o, "="); ok && strings.TrimSpace(key) == baseKey {
			src.root[baseKey], src.rebased = overridden(strings.TrimSpace(raw)), true
		}
	}
	faults = src.inherit(0)
	for _, of := range []string{"sweep", "plot"} {
		if _, given := src.root[of]; given {
			faults = append(faults, Fault{
				File: name, Line: src.layers[0].lines[of], Key: of, What: "makes this a study of many runs",
				Want: "sim sweep runs it; for one run leave it out",
			})
		}
	}
	if faults != nil {
		return nil, faults
	}
	c := src.checker(defaultName(name))
	for _, o := range overrides {
		if key, _, _ := strings.Cut(o, "="); strings.TrimSpace(key) != baseKey {
			c.override(o)
		}
	}
	return c, nil
}

// checker returns what checks the keys of s.
func (s *source) checker(name string) *checker {
	return &checker{
		s: &Scenario{Name: name}, layers: s.layers, root: s.root,
		set: map[string]bool{}, seen: map[string]bool{}, bad: map[string]bool{},
		settled: map[string]bool{}, indexed: map[int]bool{},
	}
}

// finish checks all keys and returns the scenario, or Faults.
func (c *checker) finish() (*Scenario, error) {
	if c.severalJobs() {
		c.resolveJobs()
	} else if c.resolve(); len(c.faults) == 0 {
		checkFlows(c)
		checkLength(c)
	}
	if len(c.faults) > 0 {
		return nil, c.faults.sort()
	}
	return c.s, nil
}

// broken turns an error of the TOML library into a fault.
func broken(name string, data []byte, err error) Fault {
	message, key := err.Error(), ""
	line := 0
	var p toml.ParseError
	if errors.As(err, &p) {
		message, key = p.Message, p.LastKey
		// The library counts a line end that it stumbles over as the next line.
		line = 1 + bytes.Count(data[:min(len(data), max(0, p.Position.Start))], []byte("\n"))
	}
	if number, ok := strings.CutSuffix(strings.TrimSuffix(message, "."), " is out of range for int64"); ok {
		return Fault{File: name, Line: line, Key: key, What: clipped(oneLine(number), 60) + " is out of bounds", Want: fmt.Sprintf("write a whole number from %d to %d", math.MinInt64, math.MaxInt64)}
	}
	return Fault{File: name, Line: line, What: "broken TOML: " + strings.TrimSuffix(oneLine(message), "."), Want: "see https://toml.io"}
}

func oneLine(text string) string {
	q := strconv.Quote(strings.TrimSpace(text))
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

// defaultName is the file's name without .toml, made fit for a directory.
func defaultName(file string) string {
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".toml")
	name = strings.Map(func(r rune) rune {
		if isControl(r) || strings.ContainsRune(`/\`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(name, "-"))
	name = strings.TrimLeft(name, ".")
	if len(name) > maxTextBytes {
		name = strings.ToValidUTF8(name[:maxTextBytes], "")
	}
	if name == "" {
		return "scenario"
	}
	return name
}
