package accuracy

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"strconv"
	"sync"
)

// storedFile holds the predictions of the ledger by the present models and profiles, one line per
// predicted row: id, machine, predicted value. The command make accuracy writes it.
//
//go:embed predictions.csv
var storedFile []byte

// ablationFile holds the typical factors without a part of the models, one line per part and class:
// part, class, typical factor, factor of the fitted rows. The command make accuracy writes it.
//
//go:embed ablations.csv
var ablationFile []byte

// Ablation is the error of a class without a part of its model.
type Ablation struct {
	Part, Class   string
	TypicalFactor float64 // 0 if no row was predicted
	FitFactor     float64 // 0 without fitted rows
}

// Ablations returns the stored ablations.
func Ablations() (out []Ablation) {
	for _, fields := range readStored(ablationFile) {
		out = append(out, Ablation{Part: fields[0], Class: fields[1],
			TypicalFactor: parseStored(fields[2]), FitFactor: parseStored(fields[3])})
	}
	return out
}

// readStored returns the fields of a stored file.
func readStored(file []byte) [][]string {
	lines, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		panic(err) // TestStored reads the files
	}
	return lines
}

// parseStored parses a number of a stored file.
func parseStored(field string) float64 {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil {
		panic(err) // TestStored reads the files
	}
	return v
}

// Stored returns the stored predictions of all rows of the ledger. Callers must not change them.
var Stored = sync.OnceValue(func() []Prediction {
	byID := map[string][]string{}
	for _, fields := range readStored(storedFile) {
		byID[fields[0]] = fields
	}
	var out []Prediction
	for _, r := range Ledger() {
		p := Prediction{Row: r, Class: classOf(r).name, Reason: "no prediction is stored"}
		if fields := byID[r.ID]; fields != nil {
			p.Machine, p.Value, p.Reason = fields[1], parseStored(fields[2]), ""
		}
		out = append(out, p)
	}
	return out
})
