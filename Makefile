.PHONY: help run test bench generate web diagram screenshots lint

help: ## show this
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

run: ## serve on http://127.0.0.1:8080
	go run .

test: ## run every test: in Go with the race detector, and in a browser
	scripts/test.sh

bench: ## measure a page and a vote at 1,000, 100,000 and 1,000,000 articles, and 5,000 watchers
	go test -run '^$$' -bench Site -benchmem ./tests/benchmarks
	go test -run '^$$' -bench Watchers -benchtime 1x ./tests/benchmarks

generate: ## write graph/generated.go anew from schema.graphqls
	go generate ./...

web: ## build web/dist anew from its sources; needs Node
	cd web && npm ci && npm run build

diagram: ## draw docs/images/packages.svg again; needs Graphviz
	dot -Tsvg docs/images/packages.dot -o docs/images/packages.svg

screenshots: ## take the pictures in docs/ anew; needs Node and Chromium
	cd web && npm run screenshots

lint: ## what CI checks beside the tests
	test -z "$$(gofmt -l .)"
	go vet ./...
	GOOS=windows go vet . ./store
	GOOS=darwin go vet . ./store
