package scenarios

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sim/internal/text"
	"sim/scenarios/schema"
)

//go:embed *.toml compose/*.toml compose/*.txt fleets/*.toml paper/*.toml tori/*.toml scaleup/*.toml
var embedded embed.FS

// EmbeddedScenarios returns the names of the scenarios that are built in, such as "scenarios/deepseek671b.toml", in order.
func EmbeddedScenarios() []string { return slices.Clone(embeddedFiles()[false]) }

// EmbeddedStudies returns the names of the studies that are built in, such as "scenarios/paper/delta-fig6.toml", in
// order.
func EmbeddedStudies() []string { return slices.Clone(embeddedFiles()[true]) }

// embeddedFiles returns the files that are built in, folder by folder: the studies, and the others.
var embeddedFiles = sync.OnceValue(func() map[bool][]string {
	names := map[bool][]string{}
	for _, name := range embeddedNames() {
		study := isStudyFile(name, readEmbedded(strings.TrimPrefix(name, "scenarios/")))
		names[study] = append(names[study], name)
	}
	return names
})

// embeddedNames returns their names alone, for which none needs to be read.
func embeddedNames() (names []string) {
	for _, pattern := range []string{"*.toml", "compose/*.toml", "fleets/*.toml", "paper/*.toml", "tori/*.toml", "scaleup/*.toml"} {
		files, err := fs.Glob(embedded, pattern)
		if err != nil {
			panic(err) // the patterns are well formed
		}
		for _, file := range files {
			names = append(names, path.Join("scenarios", file))
		}
	}
	return names
}

// maxSummaryChars is how many characters what a scenario is about may take.
const maxSummaryChars = 90

// Summary is what a scenario or study that is built in is about, in a line: its title, or what the comment at its head
// begins with where that fits and says more.
func Summary(name string) string {
	data := readEmbedded(strings.TrimPrefix(name, "scenarios/"))
	title := ""
	if src, faults := decodeFile(name, data); faults == nil {
		title, _ = src.root["title"].(string)
	}
	comment := ""
	for line := range strings.Lines(string(data)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		for word := range strings.FieldsSeq(text) {
			if comment += " " + word; strings.ContainsAny(word[len(word)-1:], ".:;?") && strings.Count(comment, "(") == strings.Count(comment, ")") {
				if comment = strings.Trim(comment, " .:;"); len(comment) <= maxSummaryChars && len(comment) > len(title) {
					return comment
				}
				return title
			}
		}
	}
	return title
}

func readEmbedded(file string) []byte {
	data, err := embedded.ReadFile(file)
	if err != nil {
		panic(err) // it was listed
	}
	return data
}

// Load reads the scenario file at path. If there is none, and path names a scenario that is built in
// ("scenarios/gpt7b.toml", "gpt7b.toml" or "gpt7b"), it reads that. Overrides are of the form "key=value", where value
// is TOML or plain text; a replica's key is "replica.INDEX.key". Every error is of type Diagnostics and holds all
// faults of the input.
func Load(path string, overrides []string) (*Scenario, error) {
	name, data, fault := openFile(path)
	if fault != nil {
		return nil, Diagnostics{*fault}
	}
	return Parse(name, data, overrides)
}

func openFile(file string) (name string, data []byte, fault *Diagnostic) {
	return (*fileSet)(nil).open(file)
}

// open reads a scenario file, or one that is built in. On failure fault says why.
func (f *fileSet) open(file string) (name string, data []byte, fault *Diagnostic) {
	if !f.readsDisk() {
		if data, err := f.read(file, schema.MaxFileBytes); err == nil {
			return file, data, nil
		}
		return openEmbedded(file)
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return openEmbedded(file)
	case err == nil && info.IsDir():
		if name, data, fault := openEmbedded(file); fault == nil { // a run may lie in a directory of its name
			return name, data, nil
		}
		return "", nil, &Diagnostic{File: file, Problem: "is a directory", Remedy: "name a scenario file in it"}
	case err == nil:
		data, err = f.read(file, schema.MaxFileBytes)
	}
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", nil, &Diagnostic{File: file, Problem: "cannot be read: " + err.Error(), Remedy: "name a readable file"}
	}
	return file, data, nil
}

func openEmbedded(file string) (name string, data []byte, fault *Diagnostic) {
	asked := path.Clean(filepath.ToSlash(file))
	if path.Ext(asked) != ".toml" {
		asked += ".toml"
	}
	for _, name := range embeddedNames() {
		inside := strings.TrimPrefix(name, "scenarios/")
		if asked == name || asked == inside || asked == path.Base(name) {
			return name, readEmbedded(inside), nil
		}
	}
	var known []string
	for _, name := range append(EmbeddedScenarios(), EmbeddedStudies()...) {
		known = append(known, strings.TrimSuffix(path.Base(name), ".toml"))
	}
	hint := text.DidYouMean(strings.TrimSuffix(path.Base(asked), ".toml"), known, "name a file, or what sim list scenarios or sim list studies names")
	hint = strings.TrimPrefix(hint, "; ")
	return "", nil, &Diagnostic{File: file, Problem: "no such file", Remedy: hint}
}

// Parse reads a scenario from data. name stands for the file in faults and gives the scenario its default name.
// Overrides and errors are as in Load.
func Parse(name string, data []byte, overrides []string) (*Scenario, error) {
	c, faults := parse(name, data, overrides, &fileSet{})
	if faults != nil {
		return nil, faults
	}
	return c.finish()
}

// parse is Parse before the keys are checked. Other files are read from f.
func parse(name string, data []byte, overrides []string, f *fileSet) (*checker, Diagnostics) {
	src, faults := decodeFile(name, data)
	if faults != nil {
		return nil, faults
	}
	src.files = f
	for _, o := range overrides {
		if key, raw, ok := strings.Cut(o, "="); ok && strings.TrimSpace(key) == baseKey {
			src.root[baseKey], src.baseOverridden = schema.DecodeValue(strings.TrimSpace(raw)), true
		}
	}
	faults = src.inherit(0)
	for _, table := range []string{"sweep", "plot"} {
		if _, given := src.root[table]; given {
			faults = append(faults, Diagnostic{
				File: name, Line: src.layers[0].Line(table), Key: table, Problem: "makes this a study of many runs",
				Remedy: "sim sweep runs it; for one run leave it out",
			})
		}
	}
	if faults != nil {
		return nil, faults
	}
	c := newChecker(defaultName(name), src.root, src.layers, f)
	for _, o := range overrides {
		if key, _, _ := strings.Cut(o, "="); strings.TrimSpace(key) != baseKey {
			c.override(o)
		}
	}
	return c, nil
}

// finish checks all keys and returns the scenario, or Diagnostics.
func (c *checker) finish() (*Scenario, error) {
	switch {
	case c.describesJobs():
		c.resolveJobs()
	case c.hasTiers():
		c.resolveTiers()
	default:
		if c.resolve(); len(c.Diagnostics) == 0 {
			checkReplicaMode(c)
			checkDuration(c)
		}
	}
	if len(c.Diagnostics) > 0 {
		return nil, c.Diagnostics.Sorted()
	}
	return c.s, nil
}

// defaultName is the file's name without .toml, made fit for a directory.
func defaultName(file string) string {
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".toml")
	name = strings.Map(func(r rune) rune {
		if schema.IsControl(r) || strings.ContainsRune(`/\`, r) {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(name, "-"))
	name = strings.TrimLeft(name, ".")
	if len(name) > schema.MaxText {
		name = strings.ToValidUTF8(name[:schema.MaxText], "")
	}
	if name == "" {
		return "scenario"
	}
	return name
}
