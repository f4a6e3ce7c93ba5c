"""A shop's assistant behind a URL, which needs no network beyond this machine: `python http_shop.py`."""

from aiohttp import web


async def answer(request: web.Request) -> web.Response:
    """Answer "price tea" and "order tea", anything else with a hint."""
    asked = await request.json()
    word, _, item = asked["messages"][-1]["text"].partition(" ")
    if word == "price":
        said = f"{item} costs 3 euros."
    elif word == "order":
        said = f"{item} is ordered."
    else:
        said = "Say: price tea, or: order tea."
    return web.json_response({"text": said})


app = web.Application()
app.router.add_post("/answer", answer)

if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=8900)
