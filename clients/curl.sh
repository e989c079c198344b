#!/bin/bash
# Runs the scenario of the clients with curl. FRONTPAGE_URL is the endpoint.
set -euo pipefail

fail() {
	echo "curl: $1" >&2
	exit 1
}

# post USER QUERY VARIABLES sends a query or a mutation by POST.
post() {
	curl -sS --fail-with-body "$FRONTPAGE_URL" -H 'Content-Type: application/json' -H "X-User-ID: $1" \
		--data "{\"query\":\"$2\",\"variables\":$3}"
}

# get QUERY VARIABLES sends a query by GET.
get() {
	curl -sS --fail-with-body --get --compressed "$FRONTPAGE_URL" \
		--data-urlencode "query=$1" --data-urlencode "variables=$2"
}

# ids RESPONSE prints the article ids in a response.
ids() {
	grep -o 'article:[0-9]*' <<<"$1" || true
}

[ "$(get '{ viewer { name } articles { id } }' '{}' | grep -o article: | wc -l)" = 25 ] ||
	fail "the front page does not have 25 articles"

response=$(post curl-poster 'mutation ($input: PostInput!) { post(input: $input) { article { id } userErrors { message } } }' \
	'{"input":{"title":"posted by curl","link":"https://curl.se/"}}')
article=$(ids "$response")
[ "$response" = "{\"data\":{\"post\":{\"article\":{\"id\":\"$article\"},\"userErrors\":[]}}}" ] || fail "post: $response"

response=$(post curl-voter 'mutation ($article: ID!) { vote(input: {article: $article}) { article { votes viewerVote } } }' \
	"{\"article\":\"$article\"}")
[ "$response" = '{"data":{"vote":{"article":{"votes":2,"viewerVote":"UP"}}}}' ] || fail "vote: $response"

by_cursor=
after=null
until [ "$after" = '"end"' ]; do
	response=$(get 'query ($after: String) { articlesConnection(order: TIME, direction: ASC, first: 30, after: $after) {
		nodes { id } pageInfo { hasNextPage endCursor } } }' "{\"after\":$after}")
	by_cursor+=$(ids "$response")$'\n'
	after='"end"'
	if grep -q '"hasNextPage":true' <<<"$response"; then
		after=$(sed 's/.*"endCursor":\("[^"]*"\).*/\1/' <<<"$response")
	fi
done

by_page=
page=1
while response=$(get 'query ($page: Int!) { articles(order: TIME, direction: ASC, page: $page, pageSize: 30) { id } }' "{\"page\":$page}") &&
	found=$(ids "$response") && [ -n "$found" ]; do
	by_page+=$found$'\n'
	page=$((page + 1))
done

[ "$(head -n 500 <<<"$by_cursor")" = "$(seq -f 'article:%.0f' 1001 1500)" ] || fail "paging by cursor does not return every imported article, in order"
[ "$by_cursor" = "$by_page" ] || fail "paging by cursor and by page number return different articles"
echo "curl: a query by GET, two mutations, $(wc -l <<<"${by_cursor%$'\n'}") articles by cursor and by page number"
